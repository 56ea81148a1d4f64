// The thread's log as sentences, in order, each with its data on request.
import type { ThreadEvent } from "../api/types";
import { useEvents } from "../api/queries";
import { actorName, sentence } from "../text/sentences";
import { visible } from "../text/visible";
import { Ago } from "../ui/Ago";
import { ReadError } from "../ui/Notice";
import { Skeleton } from "../ui/Quiet";
import { Dot } from "../ui/State";
import { Value } from "./Parameters";

export function History({ id }: { id: string }) {
  const log = useEvents(id);
  return (
    <section aria-label="History">
      <h2 className="eyebrow mb-3">History</h2>
      {log.error ? (
        <ReadError error={log.error} what="The history" onRetry={() => void log.refetch()} />
      ) : null}
      {log.isPending ? <Skeleton lines={4} /> : null}
      <ol className="flex flex-col">
        {log.data?.events.map((event) => (
          <Entry key={event.id} event={event} />
        ))}
      </ol>
      {log.data && !log.data.complete ? (
        <p className="mt-3 text-sm text-muted">The log goes on; its first 20,000 events are shown.</p>
      ) : null}
    </section>
  );
}

function Entry({ event }: { event: ThreadEvent }) {
  const { text, quote, tone } = sentence(event);
  const data = event.data ?? {};
  const empty = Object.keys(data).length === 0;
  return (
    <li data-kind={event.kind} className="relative flex gap-3 pb-3 last:pb-0">
      <span aria-hidden className="absolute bottom-0 left-1 top-4 -ml-px w-px bg-line" />
      <Dot tone={tone} className="relative mt-2" />
      <div className="min-w-0 flex-1">
        <div className="flex items-baseline gap-3">
          <p className="min-w-0 flex-1 [overflow-wrap:anywhere]">
            <span className="font-medium">{actorName(event.actor)}</span>{" "}
            <span className={tone === "quiet" ? "text-muted" : ""}>{text}</span>
          </p>
          <Ago time={event.event_time} className="text-xs text-faint" />
        </div>
        {quote ? (
          <blockquote className="mt-1 border-l-2 border-line-strong pl-3 font-serif text-base text-muted [overflow-wrap:anywhere]">
            {visible(quote)}
          </blockquote>
        ) : null}
        {empty ? null : (
          <details className="group mt-0.5">
            <summary className="inline-block cursor-pointer list-none rounded text-xs text-faint hover:text-ink">
              <span className="group-open:hidden">Details</span>
              <span className="hidden group-open:inline">Hide</span>
              <span className="sr-only"> of event {String(event.seq)}</span>
            </summary>
            <div className="mt-1 rounded-md border border-line bg-sunk p-3">
              <p className="mb-2 font-mono text-xs text-muted">
                {String(event.seq)} · {event.kind}
              </p>
              <Value value={data} label={event.kind} />
            </div>
          </details>
        )}
      </div>
    </li>
  );
}
