// A state as a word in its colour. Colour never stands alone: the word says the same.
import type { ThreadState } from "../gen/events";
import { wordsOf, type Tone } from "../text/states";

export const CHIP: Record<Tone, string> = {
  wait: "bg-weld-wash text-weld",
  warn: "bg-madder-wash text-madder",
  busy: "bg-indigo-wash text-indigo",
  done: "bg-moss-wash text-moss",
  quiet: "bg-line text-muted",
};

const DOT: Record<Tone, string> = {
  wait: "bg-weld",
  warn: "bg-madder",
  busy: "bg-indigo",
  done: "bg-moss",
  quiet: "bg-line-strong",
};

export function StateChip({ state }: { state: ThreadState }) {
  const { label, tone } = wordsOf(state);
  return (
    <span
      data-state={state}
      className={`inline-flex items-center whitespace-nowrap rounded px-2 text-xs font-medium leading-5 ${CHIP[tone]}`}
    >
      {label}
    </span>
  );
}

export function Dot({ tone, className = "" }: { tone: Tone; className?: string }) {
  return (
    <span aria-hidden className={`inline-block size-2 shrink-0 rounded-full ${DOT[tone]} ${className}`} />
  );
}
