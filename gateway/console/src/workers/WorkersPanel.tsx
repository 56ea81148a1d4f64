// The workers of the session that is open: thread mode, roster, the coordinator's own notes. Live by the feed.
import { useState } from "react";
import type { Session } from "../session/api";
import { ReadError } from "../ui/Notice";
import { Skeleton } from "../ui/Quiet";
import { Button } from "../ui/Button";
import type { useRoster } from "./api";
import { Costs } from "./Costs";
import { ModeSwitch } from "./ModeSwitch";
import { NewWorker } from "./NewWorker";
import { Notes } from "./Notes";
import type { Worker } from "./types";
import type { ThreadMode } from "./useThreadMode";
import { summary, waitingOf } from "./words";
import { WorkerCard } from "./WorkerCard";

interface Props {
  session: Session;
  query: ReturnType<typeof useRoster>;
  mode: ThreadMode;
  /** It is itself a worker, and has none. */
  isWorker: boolean;
}

export function WorkersPanel({ session, query, mode, isWorker }: Props) {
  const [making, setMaking] = useState(false);
  const roster = query.data;
  const workers = roster?.threads ?? [];
  const close = (): void => {
    setMaking(false);
  };
  return (
    <div className="min-h-0 flex-1 overflow-y-auto" aria-busy={query.isPending}>
      {isWorker ? null : <ModeSwitch mode={mode} />}
      {query.error ? (
        <div className="p-4">
          <ReadError error={query.error} what="The workers" onRetry={() => void query.refetch()} />
        </div>
      ) : null}
      {query.isPending ? <Skeleton lines={3} /> : null}
      {roster === null || (roster && workers.length === 0) ? (
        <p className="px-4 py-6 text-sm text-muted">
          {isWorker
            ? "This session is a worker itself, and a worker has no workers."
            : mode.on
              ? "No workers yet. Ask for something that splits into parts, and the agent starts them by itself."
              : "No workers. With thread mode on, the agent may split work among workers of its own."}
        </p>
      ) : null}
      {workers.length > 0 ? (
        <section aria-label="Workers">
          <p role="status" className="px-4 pb-1 pt-3 text-xs text-faint">
            {summary(workers)}
          </p>
          <Asking workers={workers} />
          <ul>
            {workers.map((worker) => (
              <WorkerCard key={worker.id} session={session.id} worker={worker} />
            ))}
          </ul>
        </section>
      ) : null}
      {isWorker ? null : (
        <div className="px-4 py-3">
          <Button
            onClick={() => {
              setMaking(true);
            }}
          >
            New worker…
          </Button>
        </div>
      )}
      {roster ? (
        <>
          <section aria-label="The coordinator's notes" className="border-t border-line px-4 py-3">
            <Notes session={session.id} name="" count={roster.note_count} />
          </section>
          <Costs roster={roster} mode={mode} />
        </>
      ) : null}
      {making ? (
        <NewWorker session={session} taken={workers.map(({ name }) => name)} onClose={close} />
      ) : null}
    </div>
  );
}

/** Among many, one that asks something is found by one press. */
function Asking({ workers }: { workers: readonly Worker[] }) {
  const asking = waitingOf(workers);
  const first = asking[0];
  if (!first || workers.length < 5) return null;
  return (
    <button
      type="button"
      className="w-full bg-weld-wash px-4 py-2 text-left text-sm text-weld -outline-offset-2 focus-visible:-outline-offset-2"
      onClick={() => {
        const card = document.querySelector<HTMLElement>(`[data-worker="${CSS.escape(first.name)}"] button`);
        card?.scrollIntoView({ block: "center" });
        card?.focus({ preventScroll: true });
      }}
    >
      {asking.length === 1 ? `${first.name} waits for you` : `${asking.length} wait for you`}. Show{" "}
      {asking.length === 1 ? "it" : "the first"}
    </button>
  );
}
