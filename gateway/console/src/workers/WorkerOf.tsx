// Above a worker's own session: whose worker it is, and the way back.
import { useSession } from "../session/api";
import { titleOf } from "../session/title";
import { SessionLink } from "../sessions/SessionLink";
import { visible } from "../text/visible";
import { Chip } from "./Chip";
import type { Worker } from "./types";
import { marksOf, reasonOf, statusOf } from "./words";

export function WorkerOf({ worker }: { worker: Worker }) {
  const coordinator = useSession(worker.coordinator_session_id);
  const { label, tone } = statusOf(worker.status);
  const why = worker.reason === "completed" ? "" : reasonOf(worker.reason);
  return (
    <aside
      aria-label="Whose worker this is"
      data-worker-of={worker.coordinator_session_id}
      className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b border-line bg-sunk px-8 py-2 text-sm max-lg:px-4"
    >
      <p className="min-w-0 [overflow-wrap:anywhere]">
        Worker <code className="font-mono">{worker.name}</code> of{" "}
        <SessionLink id={worker.coordinator_session_id} plain>
          {coordinator.data ? visible(titleOf(coordinator.data)) : "its coordinator"}
        </SessionLink>
      </p>
      <Chip tone={tone} title={reasonOf(worker.reason)}>
        {label}
      </Chip>
      {marksOf(worker)
        .filter(({ text }) => text !== "Waits for you" && text !== "Interim result")
        .map(({ text, tone, why }) => (
          <Chip key={text} tone={tone} title={why}>
            {text}
          </Chip>
        ))}
      {why === "" ? null : <span className="text-xs text-madder">{why}</span>}
    </aside>
  );
}
