// The thread's log as sentences, in order, each with its data on request.
import { useState } from "react";
import type { ThreadEvent } from "../api/types";
import { MOST_EVENTS, useEvents } from "../api/queries";
import { actorName, sentence } from "../text/sentences";
import { visible } from "../text/visible";
import { Ago } from "../ui/Ago";
import { Button } from "../ui/Button";
import { ReadError } from "../ui/Notice";
import { Skeleton } from "../ui/Quiet";
import { Dot } from "../ui/State";
import { Value } from "./Parameters";

export function History({ id }: { id: string }) {
  const log = useEvents(id);
  const [whole, setWhole] = useState(false);
  const events = log.data?.events ?? [];
  const told = whole ? events : events.filter((event) => !sentence(event).routine);
  const hidden = events.length - told.length;
  return (
    <section aria-label="History">
      <div className="mb-2 flex min-h-8 items-center justify-between">
        <h2 className="eyebrow">History</h2>
        {whole || hidden > 0 ? (
          <Button
            look="bare"
            className="-mr-3"
            aria-pressed={whole}
            onClick={() => {
              setWhole(!whole);
            }}
          >
            {whole ? "Hide routine steps" : `Show ${hidden} routine ${hidden === 1 ? "step" : "steps"}`}
          </Button>
        ) : null}
      </div>
      {log.error ? (
        <ReadError error={log.error} what="The history" onRetry={() => void log.refetch()} />
      ) : null}
      {log.isPending ? <Skeleton lines={4} /> : null}
      <ol className="flex flex-col">
        {told.map((event) => (
          <Entry key={event.id} event={event} />
        ))}
      </ol>
      {log.data && !log.data.complete ? (
        <p className="mt-3 text-sm text-muted">
          The log goes on; its first {MOST_EVENTS.toLocaleString("en-GB")} events are shown.
        </p>
      ) : null}
    </section>
  );
}

function Entry({ event }: { event: ThreadEvent }) {
  const { text, quote, tone } = sentence(event);
  return (
    <li data-kind={event.kind} className="relative flex gap-3">
      <span
        aria-hidden
        className="absolute -bottom-2 left-1 top-5 -ml-px w-px bg-line [li:last-child>&]:hidden"
      />
      <Dot tone={tone} className="relative mt-2.5" />
      <details className="group min-w-0 flex-1 pb-1">
        <summary
          className="-mx-2 cursor-pointer list-none rounded px-2 py-1 hover:bg-sunk"
          title="Show the record"
        >
          <span className="flex items-baseline gap-3">
            <span className="min-w-0 flex-1 [overflow-wrap:anywhere]">
              <span className="font-medium">{actorName(event.actor)}</span>{" "}
              <span className={tone === "quiet" ? "text-muted" : ""}>{text}</span>
            </span>
            <Ago time={event.event_time} className="text-xs text-faint" />
          </span>
          {quote ? (
            <span className="mt-1 block whitespace-pre-wrap border-l-2 border-line-strong pl-3 font-serif text-base text-muted [overflow-wrap:anywhere]">
              {visible(quote)}
            </span>
          ) : null}
        </summary>
        <div className="mb-2 mt-1 rounded-md border border-line bg-sunk p-3">
          <p className="mb-2 font-mono text-xs text-muted">
            {String(event.seq)} · {event.kind} · {event.id}
          </p>
          <Value value={event.data ?? {}} label={event.kind} />
        </div>
      </details>
    </li>
  );
}
