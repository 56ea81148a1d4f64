// The session that a branch was made of, and the moment at which it was (design/planning.md C2, P.3). Pure.
import type { Session } from "./api";

/** The fields of treadle.planning.v1.PlanTurn that the console uses. */
export interface OriginTurn {
  number: number;
  create_time: string;
}

/** The origin's id; empty for what is no branch. */
export function originOf({ forked_from }: Pick<Session, "forked_from">): string {
  return (forked_from ?? "").replace(/^sessions\//, "");
}

/** When the turn after the forked one began (the next in order, not k + 1: turns may be missing), or when the branch was
    made where that came first: until then the forked turn was the last. */
export function turnAfter(
  { fork_turn, create_time }: Pick<Session, "fork_turn" | "create_time">,
  turns: readonly OriginTurn[],
): string {
  const next = turns.find(({ number }) => number > (fork_turn ?? 0));
  return next && Date.parse(next.create_time) < Date.parse(create_time) ? next.create_time : create_time;
}
