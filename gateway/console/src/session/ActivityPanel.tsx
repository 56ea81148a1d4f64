// What happened, in order: prompts, thinking, output, tools by name and status, gates, status, turns. In memory only.
import { memo } from "react";
import { visible } from "../text/visible";
import type { Activity, Entry } from "./activity";
import type { TurnState } from "./events";
import { useFollow } from "./useFollow";
import { failure, GATES, OUTCOMES, STATES } from "./words";

export function ActivityPanel({ activity }: { activity: Activity }) {
  const { scroller, onScroll } = useFollow();
  return (
    <div
      ref={scroller}
      onScroll={onScroll}
      tabIndex={0}
      role="log"
      aria-label="Activity"
      aria-live="off"
      className="min-h-0 flex-1 overflow-y-auto px-4 py-3 -outline-offset-2 focus-visible:-outline-offset-2"
    >
      {activity.length === 0 ? <p className="text-sm text-faint">Nothing has happened yet.</p> : null}
      <ol className="flex flex-col gap-2">
        {activity.map((entry) => (
          <Line key={entry.key} entry={entry} />
        ))}
      </ol>
    </div>
  );
}

const Line = memo(function Line({ entry }: { entry: Entry }) {
  return (
    <li data-activity={entry.kind} data-status={entry.status} className="text-sm [overflow-wrap:anywhere]">
      <Words entry={entry} />
    </li>
  );
});

const WORD: Partial<Record<string, { label: string; colour: string }>> = {
  running: { label: "running", colour: "text-indigo" },
  completed: { label: "completed", colour: "text-moss" },
  succeeded: { label: "succeeded", colour: "text-moss" },
  failed: { label: "failed", colour: "text-madder" },
  interrupted: { label: "interrupted", colour: "text-madder" },
  open: { label: "open", colour: "text-weld" },
  answered: { label: "answered", colour: "text-moss" },
};

function Words({ entry: { kind, text, status = "", steer, told } }: { entry: Entry }) {
  switch (kind) {
    case "prompt":
      return (
        <Long
          label={status === "refused" ? "You (not sent)" : status === "sending" ? "You (sending)" : "You"}
        >
          <span className={status === "refused" ? "line-through" : ""}>{visible(text)}</span>
          {steer ? <span className="sr-only"> (steering)</span> : null}
        </Long>
      );
    case "thinking":
      return (
        <Long label="Thinking">
          <span className="italic text-muted">{visible(text)}</span>
        </Long>
      );
    case "output":
      return (
        <Long label={status === "discarded" ? "Output, discarded" : "Output"}>
          <span className={status === "discarded" ? "text-faint line-through" : ""}>{visible(text)}</span>
        </Long>
      );
    case "tool":
      return <Short label="Tool" text={<code className="font-mono">{visible(text)}</code>} status={status} />;
    case "gate":
      return <Short label="Gate" text={GATES[text] ?? visible(text)} status={status} />;
    case "turn": {
      const state = STATES[text as TurnState].label;
      const why = text === "failed" ? failure(status) : (OUTCOMES[status] ?? "");
      return <Short label="Turn" text={why === "" ? state : `${state}. ${why}`} status="" />;
    }
    case "worker":
      return (
        <>
          <Short label="Worker" text={<code className="font-mono">{visible(text)}</code>} status={status} />
          {told ? <p className="pl-14 text-xs text-muted">{told}</p> : null}
        </>
      );
    case "status":
      return <Short label="Status" text={visible(text)} status="" />;
    case "reset":
      return <p className="border-t border-line pt-2 text-faint">{text}</p>;
  }
}

function Long({ label, children }: { label: string; children: React.ReactNode }) {
  return (
    <>
      <p className="text-xs text-faint">{label}</p>
      <p className="whitespace-pre-wrap">{children}</p>
    </>
  );
}

function Short({ label, text, status }: { label: string; text: React.ReactNode; status: string }) {
  const word = WORD[status];
  return (
    <p className="flex items-baseline gap-2">
      <span className="w-12 shrink-0 text-xs text-faint">{label}</span>
      <span className="min-w-0 flex-1">{text}</span>
      {status === "" ? null : (
        <span className={`text-xs ${word?.colour ?? "text-muted"}`}>{word?.label ?? status}</span>
      )}
    </p>
  );
}
