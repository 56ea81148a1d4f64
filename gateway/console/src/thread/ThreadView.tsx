// A thread, whole: title, decision, understanding, history.
import { useEffect, useRef } from "react";
import { Problem } from "../api/http";
import { useThread } from "../api/queries";
import type { Thread } from "../api/types";
import { Breadcrumb } from "../family/Breadcrumb";
import { SubThreads } from "../family/SubThreads";
import { Board } from "../group/Board";
import { visible } from "../text/visible";
import { Ago } from "../ui/Ago";
import { ReadError } from "../ui/Notice";
import { Empty, Skeleton } from "../ui/Quiet";
import { StateChip } from "../ui/State";
import { DecisionPanel } from "./DecisionPanel";
import { History } from "./History";
import { ProposedIn } from "./ProposedIn";
import { Understanding } from "./Understanding";
import { WaitsFor } from "./WaitsFor";

interface Props {
  id: string;
  /** The page is this thread's own: it takes the focus and the tab's title. */
  focus: boolean;
}

export function ThreadView({ id, focus }: Props) {
  const query = useThread(id);
  const thread = query.data;
  const title = useRef<HTMLHeadingElement>(null);
  const here = focus && thread !== undefined;
  useEffect(() => {
    if (here) title.current?.focus({ preventScroll: true });
  }, [here, id]);

  if (!thread) {
    if (query.error instanceof Problem && [400, 404].includes(query.error.status)) {
      return (
        <Empty title="There is no such thread">
          It may belong to somebody else, or the address is mistyped.
        </Empty>
      );
    }
    if (query.error) {
      return (
        <div className="p-6">
          <ReadError error={query.error} what="The thread" onRetry={() => void query.refetch()} />
        </div>
      );
    }
    return <Skeleton lines={6} />;
  }
  // A singular umbrella has no section of sub-threads: its card shows their actions.
  const family = (thread.sub_thread_count ?? 0) > 0 ? (thread.parent_relationship ?? "decompose") : undefined;
  return (
    <article
      aria-labelledby="thread-title"
      data-thread={thread.id}
      className={`mx-auto flex w-full flex-col gap-7 px-8 py-7 max-lg:gap-6 max-lg:px-4 max-lg:py-5 ${family === "group" ? "max-w-6xl" : "max-w-3xl"}`}
    >
      <header className="flex flex-col gap-2">
        <Breadcrumb thread={thread} />
        <Facts thread={thread} />
        <ProposedIn thread={thread} />
        <h1
          id="thread-title"
          ref={title}
          tabIndex={-1}
          className="font-serif text-title font-medium [overflow-wrap:anywhere] [text-wrap:balance]"
        >
          {visible(thread.title)}
        </h1>
        {thread.description ? (
          <p className="max-w-prose whitespace-pre-wrap text-base text-muted [overflow-wrap:anywhere]">
            {visible(thread.description)}
          </p>
        ) : null}
      </header>
      {query.error ? (
        <ReadError error={query.error} what="The newest state" onRetry={() => void query.refetch()} />
      ) : null}
      {family === "group" ? <Board umbrella={thread} /> : null}
      <DecisionPanel key={thread.id} thread={thread} />
      <WaitsFor id={id} />
      {family === "decompose" ? <SubThreads thread={thread} /> : null}
      <Understanding thread={thread} />
      <History id={id} />
    </article>
  );
}

function Facts({ thread }: { thread: Thread }) {
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-1 text-xs text-faint">
      <StateChip state={thread.state} />
      {thread.risk_highlight === "high" && thread.display_mode === "actionable" ? (
        <span className="font-semibold text-madder">High risk</span>
      ) : null}
      <span>
        opened <Ago time={thread.create_time} long />
      </span>
      {thread.resurface_at && thread.display_mode !== "terminal" ? (
        <span>
          snoozed, back <Ago time={thread.resurface_at} ahead />
        </span>
      ) : null}
      <span className="select-all font-mono text-xs max-sm:hidden">{thread.id}</span>
    </div>
  );
}
