// On a branch: links to what was open in its origin at the turn that it was made of. To read only: workers and proposals
// stay with the origin, and nothing that is decided here acts on them (design/planning.md P.3).
import { ThreadLink } from "../family/ThreadLink";
import { SessionLink } from "../sessions/SessionLink";
import { visible } from "../text/visible";
import { StateChip } from "../ui/State";
import { Chip } from "../workers/Chip";
import type { Worker } from "../workers/types";
import { sessionOf, statusOf } from "../workers/words";
import type { Session } from "./api";
import { useOriginAt } from "./proposed";

export function OriginLinks({ session }: { session: Session }) {
  const open = useOriginAt(session);
  const count = (open?.workers.length ?? 0) + (open?.threads.length ?? 0);
  if (!open || count === 0) return null;
  return (
    <details
      data-origin-links={count}
      className="border-b border-line bg-sunk px-8 py-2 text-sm max-lg:px-4"
      open={count <= 3}
    >
      <summary className="cursor-pointer text-muted">
        Open in the original at turn {session.fork_turn ?? 0}: {count}
      </summary>
      <ul
        aria-label="Open in the original"
        className="mt-1 flex max-h-40 flex-col gap-1 overflow-y-auto py-1"
      >
        {open.workers.map((worker) => (
          <WorkerLine key={worker.id} worker={worker} />
        ))}
        {open.threads.map((thread) => (
          <li key={thread.id} data-origin-thread={thread.id} className="flex items-baseline gap-2">
            <StateChip state={thread.state} />
            <ThreadLink id={thread.id} className="min-w-0 [overflow-wrap:anywhere]">
              {visible(thread.title)}
            </ThreadLink>
          </li>
        ))}
      </ul>
    </details>
  );
}

function WorkerLine({ worker }: { worker: Worker }) {
  const { label, tone } = statusOf(worker.status);
  const its = sessionOf(worker);
  return (
    <li data-origin-worker={worker.name} className="flex items-baseline gap-2">
      <Chip tone={tone}>{label}</Chip>
      <span className="min-w-0 [overflow-wrap:anywhere]">
        worker{" "}
        {its === undefined ? (
          <code className="font-mono">{worker.name}</code>
        ) : (
          <SessionLink id={its} plain>
            {worker.name}
          </SessionLink>
        )}
      </span>
    </li>
  );
}
