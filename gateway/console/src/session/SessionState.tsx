// A turn's state as a word in its colour.
import type { Tone } from "../text/states";
import type { TurnState } from "./events";
import { STATES } from "./words";

const CHIP: Record<Tone, string> = {
  wait: "bg-weld-wash text-weld",
  warn: "bg-madder-wash text-madder",
  busy: "bg-indigo-wash text-indigo",
  done: "bg-moss-wash text-moss",
  quiet: "bg-line text-muted",
};

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
