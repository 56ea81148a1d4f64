// Something the reader must know, in place: errors with a retry, losers with the winner.
import type { ReactNode } from "react";
import type { Tone } from "../text/states";
import { Button } from "./Button";

const LOOKS: Partial<Record<Tone, string>> = {
  warn: "border-madder bg-madder-wash",
  wait: "border-weld bg-weld-wash",
  done: "border-moss bg-moss-wash",
};

interface Props {
  tone: "warn" | "wait" | "done";
  title: string;
  children?: ReactNode;
  actions?: ReactNode;
}

export function Notice({ tone, title, children, actions }: Props) {
  return (
    <div
      role={tone === "done" ? "status" : "alert"}
      className={`flex flex-wrap items-start justify-between gap-3 rounded-lg border-l-4 px-4 py-3 ${LOOKS[tone] ?? ""}`}
    >
      <div className="min-w-0 flex-1 basis-64">
        <p className="font-medium">{title}</p>
        {children ? <div className="mt-1 text-sm [overflow-wrap:anywhere]">{children}</div> : null}
      </div>
      {actions ? <div className="flex shrink-0 gap-2">{actions}</div> : null}
    </div>
  );
}

/** A read that failed: what stands on the page may be old, and one press tries again. */
export function ReadError({ error, onRetry, what }: { error: Error; onRetry: () => void; what: string }) {
  return (
    <Notice
      tone="warn"
      title={`${what} could not be read`}
      actions={
        <Button onClick={onRetry} className="bg-transparent">
          Try again
        </Button>
      }
    >
      {error.message}
    </Notice>
  );
}
