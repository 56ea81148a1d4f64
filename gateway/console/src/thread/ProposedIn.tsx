// Above a thread that an agent proposed: in which session, and the way there.
import type { Thread } from "../api/types";
import { useSession } from "../session/api";
import { titleOf } from "../session/title";
import { SessionLink } from "../sessions/SessionLink";
import { visible } from "../text/visible";

export function ProposedIn({ thread }: { thread: Thread }) {
  const id = thread.session_id ?? "";
  const session = useSession(id, id !== "");
  if (id === "") return null;
  return (
    <p data-proposed-in={id} className="text-sm text-muted [overflow-wrap:anywhere]">
      Proposed by the agent of{" "}
      <SessionLink id={id} plain>
        {session.data ? visible(titleOf(session.data)) : "a session"}
      </SessionLink>
    </p>
  );
}
