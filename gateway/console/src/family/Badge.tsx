// The word on a hoisted card's corner. Colour never stands alone: the word says the same.

const LOOKS: Partial<Record<string, string>> = {
  done: "bg-moss-wash text-moss",
  failed: "bg-madder-wash text-madder",
  rejected: "bg-line text-muted",
  running: "bg-indigo-wash text-indigo",
};

export function Badge({ text }: { text: string | undefined }) {
  if (text === undefined) return null;
  return (
    <span
      data-badge={text}
      className={`inline-flex shrink-0 items-center whitespace-nowrap rounded px-2 text-xs font-medium leading-5 ${LOOKS[text] ?? "bg-indigo-wash text-indigo"}`}
    >
      {text}
    </span>
  );
}
