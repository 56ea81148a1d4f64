// A turn's state as a word in its colour.
import { CHIP } from "../ui/State";
import type { TurnState } from "./events";
import { STATES } from "./words";

export function SessionState({ state }: { state: TurnState }) {
  const { label, tone } = STATES[state];
  return (
    <span
      data-turn-state={state}
      className={`inline-flex items-center whitespace-nowrap rounded px-2 text-xs font-medium leading-5 ${CHIP[tone]}`}
    >
      {label}
    </span>
  );
}
