// Above a branch: what it was made of, the way back while that is there, and whether it is ready.
import { Problem } from "../api/http";
import { useSession, type Session } from "../session/api";
import { titleOf } from "../session/title";
import { SessionLink } from "../sessions/SessionLink";
import { visible } from "../text/visible";

export function BranchOf({ session }: { session: Session }) {
  const id = (session.forked_from ?? "").replace(/^sessions\//, "");
  const origin = useSession(id, id !== "");
  const gone = origin.error instanceof Problem && origin.error.status === 404;
  if (id === "" && !session.forking) return null;
  return (
    <aside
      aria-label="What this is a branch of"
      data-branch-of={id}
      className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b border-line bg-sunk px-8 py-2 text-sm max-lg:px-4"
    >
      <p className="min-w-0 [overflow-wrap:anywhere]">
        Branch of{" "}
        {gone ? (
          "a session that has been deleted"
        ) : (
          <SessionLink id={id} plain>
            {origin.data ? visible(titleOf(origin.data)) : "another session"}
          </SessionLink>
        )}{" "}
        {session.fork_turn ? `after turn ${String(session.fork_turn)}` : "from before its first turn"}
      </p>
      {session.forking ? (
        <span role="status" className="text-xs text-weld">
          being made: it takes prompts in a moment
        </span>
      ) : (
        !gone && <span className="text-xs text-faint">its workers and proposals stay there</span>
      )}
    </aside>
  );
}
