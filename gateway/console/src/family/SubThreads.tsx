// What a thread was broken down into: a small card a child, in spawn order; a child with children of its own unfolds.
import { useState } from "react";
import { proposalOf } from "../api/decisions";
import { useSubThreads } from "../api/families";
import type { Thread } from "../api/types";
import { visible } from "../text/visible";
import { waitsOf } from "../text/waits";
import { Button } from "../ui/Button";
import { ReadError } from "../ui/Notice";
import { Skeleton } from "../ui/Quiet";
import { StateChip } from "../ui/State";
import { ThreadLink } from "./ThreadLink";

/** Deeper ones are a press away; the tree would be all indentation. */
const DEEPEST = 4;

export function SubThreads({ thread }: { thread: Thread }) {
  const total = thread.sub_thread_count ?? 0;
  const open = thread.open_children ?? 0;
  return (
    <section aria-label="Sub-threads">
      <h2 className="eyebrow mb-2">
        Sub-threads{" "}
        <span className="normal-case tracking-normal">
          · {open === 0 ? `all ${total} have ended` : `${open} of ${total} open`}
        </span>
      </h2>
      <Children id={thread.id} depth={1} />
    </section>
  );
}

function Children({ id, depth }: { id: string; depth: number }) {
  const query = useSubThreads(id);
  const threads = query.data?.pages.flatMap((page) => page.threads ?? []) ?? [];
  return (
    <>
      {query.error && !query.isFetchNextPageError ? (
        <ReadError error={query.error} what="The sub-threads" onRetry={() => void query.refetch()} />
      ) : null}
      {query.isPending ? <Skeleton lines={2} /> : null}
      <ul className="flex flex-col gap-2">
        {threads.map((child) => (
          <Child key={child.id} thread={child} depth={depth} />
        ))}
      </ul>
      {query.hasNextPage ? (
        <Button
          className="mt-2"
          disabled={query.isFetchingNextPage}
          onClick={() => void query.fetchNextPage()}
        >
          {query.isFetchingNextPage ? "Reading…" : "Show more"}
        </Button>
      ) : null}
    </>
  );
}

function Child({ thread, depth }: { thread: Thread; depth: number }) {
  const [unfolded, setUnfolded] = useState(false);
  const below = thread.sub_thread_count ?? 0;
  const action = proposalOf(thread);
  const ended = thread.display_mode === "terminal";
  return (
    <li data-sub-thread={thread.id}>
      <div
        className={`rounded-lg border px-4 py-3 ${ended ? "border-line bg-sunk" : "border-line-strong bg-raised"}`}
      >
        <div className="flex items-start gap-3">
          <ThreadLink
            id={thread.id}
            className={`min-w-0 flex-1 font-medium [overflow-wrap:anywhere] ${ended ? "text-muted" : ""}`}
          >
            {visible(thread.title)}
          </ThreadLink>
          <StateChip state={thread.state} />
        </div>
        <div className="mt-1 flex items-center gap-3">
          <p className="min-w-0 flex-1 text-sm text-muted [overflow-wrap:anywhere]">
            {action ? visible(action.plan_summary || action.name) : waitsOf(thread)}
          </p>
          {below > 0 && depth < DEEPEST ? (
            <Button
              look="bare"
              className="-my-1 -mr-3"
              aria-expanded={unfolded}
              onClick={() => {
                setUnfolded(!unfolded);
              }}
            >
              {unfolded ? "Fold" : `${below} below`}
            </Button>
          ) : null}
        </div>
      </div>
      {unfolded ? (
        <div className="ml-4 mt-2 border-l border-line-strong pl-3">
          <Children id={thread.id} depth={depth + 1} />
        </div>
      ) : null}
    </li>
  );
}
