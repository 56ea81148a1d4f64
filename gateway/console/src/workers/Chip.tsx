// A worker's status, or a mark beside it, as a word in its colour.
import type { Tone } from "../text/states";
import { CHIP } from "../ui/State";

export function Chip({
  tone,
  title,
  children,
}: {
  tone: Tone;
  title?: string | undefined;
  children: string;
}) {
  return (
    <span
      title={title}
      className={`inline-flex items-center whitespace-nowrap rounded px-2 text-xs font-medium leading-5 ${CHIP[tone]}`}
    >
      {children}
    </span>
  );
}
