// What an action would be called with, whole: nothing is cut, and characters that could deceive are made visible.
import type { Json, JsonObject } from "../api/types";
import { visible } from "../text/visible";

export function Parameters({ parameters }: { parameters: JsonObject }) {
  const entries = Object.entries(parameters);
  if (entries.length === 0) return <p className="text-sm text-muted">No parameters.</p>;
  return (
    <dl className="overflow-hidden rounded-md border border-line bg-paper">
      {entries.map(([name, value]) => (
        <div
          key={name}
          className="grid grid-cols-1 gap-x-4 border-b border-line px-3 py-2 last:border-b-0 sm:grid-cols-[9rem_1fr]"
        >
          <dt className="font-mono text-sm text-muted [overflow-wrap:anywhere]">{visible(name)}</dt>
          <dd className="min-w-0">
            <Value value={value} label={name} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

export function Value({ value, label }: { value: Json; label: string }) {
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  if (text === "") return <span className="text-sm italic text-faint">empty</span>;
  const long = text.length > 600 || text.split("\n").length > 12;
  return (
    <pre
      {...(long ? { tabIndex: 0, role: "region", "aria-label": `${label}, scrollable` } : {})}
      className={`whitespace-pre-wrap font-mono text-sm [overflow-wrap:anywhere] ${long ? "max-h-80 overflow-auto" : ""}`}
    >
      {visible(text)}
    </pre>
  );
}
