// The way down to a thread: its ancestors, each a link. A long way is shortened in the middle.
import { useThread } from "../api/queries";
import type { Thread } from "../api/types";
import { ThreadLink } from "./ThreadLink";
import { visible } from "../text/visible";

const MOST = 3;

export function Breadcrumb({ thread }: { thread: Thread }) {
  const path = thread.path?.length ? thread.path : thread.parent_id ? [thread.parent_id] : [];
  if (path.length === 0) return null;
  const shortened = path.length > MOST;
  const shown = shortened ? [path[0] ?? "", ...path.slice(-MOST + 1)] : path;
  return (
    <nav aria-label="Part of">
      <ol className="flex flex-wrap items-baseline gap-x-2 text-sm text-muted">
        {shown.map((id, index) => (
          <li key={id} className="flex min-w-0 max-w-full items-baseline gap-2">
            <Crumb id={id} />
            <span aria-hidden className="text-faint">
              {shortened && index === 0 ? "/ … /" : "/"}
            </span>
          </li>
        ))}
      </ol>
    </nav>
  );
}

function Crumb({ id }: { id: string }) {
  const { data } = useThread(id);
  return (
    <ThreadLink id={id} className="min-w-0 max-w-72 truncate hover:text-ink">
      {data ? visible(data.title) : "…"}
    </ThreadLink>
  );
}
