// The state filter's choices: groups in a person's words, and each state by itself.
import { THREAD_STATES, type ThreadState } from "../gen/events";
import { ENDED, MOVING, WAITING } from "../text/states";

export const GROUPS: Readonly<Record<string, readonly [label: string, states: readonly ThreadState[]]>> = {
  waiting: ["Waiting for a person", WAITING],
  moving: ["Under way", MOVING],
  ended: ["Ended", ENDED],
};

/** The states that a filter value stands for; empty = any. An unknown value filters nothing. */
export function statesOf(filter: string): readonly ThreadState[] {
  const group = GROUPS[filter];
  if (group) return group[1];
  return THREAD_STATES.filter((state) => state === filter);
}
