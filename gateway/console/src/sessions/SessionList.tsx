// All sessions, newest first; several can be chosen and deleted together.
import type { KeyboardEvent } from "react";
import { type Session, type useSessions } from "../session/api";
import { Button } from "../ui/Button";
import { CheckRow } from "../ui/CheckRow";
import { ReadError } from "../ui/Notice";
import { Empty, Skeleton } from "../ui/Quiet";
import { DeleteBar } from "./DeleteBar";
import type { DeleteResult, DeskAction } from "./desk";
import { SessionRow } from "./SessionRow";

interface Props {
  query: ReturnType<typeof useSessions>;
  sessions: readonly Session[];
  activeId: string | undefined;
  /** Whether sessions that work for another one are listed, too. */
  workers: boolean;
  onWorkers: (shown: boolean) => void;
  selection: readonly string[];
  dispatch: (action: DeskAction) => void;
  onDeleted: (results: readonly DeleteResult[]) => void;
  onNew: () => void;
}

export function SessionList({
  query,
  sessions,
  activeId,
  workers,
  onWorkers,
  selection,
  dispatch,
  onDeleted,
  onNew,
}: Props) {
  const onKeyDown = (event: KeyboardEvent): void => {
    const id = event.target instanceof HTMLElement ? event.target.getAttribute("data-session-row") : null;
    if (event.key !== " " || id === null) return;
    event.preventDefault();
    dispatch({ type: "toggled", id });
  };
  return (
    <section aria-label="Sessions" className="flex min-h-full flex-col">
      <h2 className="sr-only">Sessions</h2>
      {query.error && !query.isFetchNextPageError ? (
        <div className="p-3">
          <ReadError error={query.error} what="The list" onRetry={() => void query.refetch()} />
        </div>
      ) : null}
      {query.isPending ? <Skeleton lines={5} /> : null}
      <ul role="list" onKeyDown={onKeyDown}>
        {sessions.map((session) => (
          <SessionRow
            key={session.id}
            session={session}
            current={session.id === activeId}
            selecting={selection.length > 0}
            chosen={selection.includes(session.id)}
            onToggle={() => {
              dispatch({ type: "toggled", id: session.id });
            }}
          />
        ))}
      </ul>
      {query.isSuccess && sessions.length === 0 ? (
        <Empty title="No sessions yet">
          <p className="mb-4">A session is a conversation with an agent that you can watch and steer.</p>
          <Button look="primary" onClick={onNew}>
            Start the first one
          </Button>
        </Empty>
      ) : null}
      {query.isSuccess && (sessions.length > 0 || workers) ? (
        <CheckRow className="px-4 py-3 !text-xs text-muted" checked={workers} onChange={onWorkers}>
          Sessions of workers, too
        </CheckRow>
      ) : null}
      {query.hasNextPage ? (
        <div className="p-3 text-center">
          <Button disabled={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
            {query.isFetchingNextPage ? "Reading…" : query.isFetchNextPageError ? "Try again" : "Show more"}
          </Button>
        </div>
      ) : null}
      <DeleteBar
        selection={selection}
        sessions={sessions}
        onDeleted={onDeleted}
        onNone={() => {
          dispatch({ type: "selected", ids: [] });
        }}
      />
    </section>
  );
}
