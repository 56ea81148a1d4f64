// The left column: what waits for me, or all threads by state. Owns no selection: its owner says which row is current.
import type { KeyboardEvent } from "react";
import { useInbox, useThreads } from "../api/queries";
import { THREAD_STATES } from "../gen/events";
import { href, navigate, type Route } from "../shell/router";
import { plainName } from "../text/states";
import { Button } from "../ui/Button";
import { ReadError } from "../ui/Notice";
import { Empty, Skeleton } from "../ui/Quiet";
import { BatchBar, Decided } from "./BatchBar";
import { GROUPS, statesOf } from "./filters";
import { Row } from "./Row";
import { Search } from "./Search";
import { useBatch } from "./useBatch";

export function useList(route: Route) {
  const inbox = useInbox();
  const all = useThreads(statesOf(route.filter), route.words.trim(), route.view === "all");
  const query = route.view === "all" ? all : inbox;
  const threads = query.data?.pages.flatMap((page) => page.threads ?? []) ?? [];
  const batch = useBatch(route.view === "inbox" ? threads : []);
  return { query, threads, batch, waiting: inbox.data?.pages[0]?.total_size ?? 0 };
}

interface Props {
  list: ReturnType<typeof useList>;
  route: Route;
  currentId: string | undefined;
  onOpen: (id: string) => void;
  onFocus: (id: string) => void;
  onNew: () => void;
}

export function ListPane({ list, route, currentId, onOpen, onFocus, onNew }: Props) {
  const { query, threads, waiting, batch } = list;
  const onKeyDown = (event: KeyboardEvent): void => {
    const id = event.target instanceof HTMLElement ? event.target.getAttribute("data-row") : null;
    if (event.key !== " " || id === null || route.view !== "inbox") return;
    event.preventDefault();
    batch.toggle(id);
  };
  return (
    <section aria-label={route.view === "all" ? "All threads" : "Inbox"}>
      <h2 className="sr-only">{route.view === "all" ? "All threads" : "Inbox"}</h2>
      <div className="sticky top-0 z-[1] border-b border-line bg-paper max-lg:top-12">
        <nav aria-label="Lists" className="flex items-center gap-5 px-4">
          <Tab route={route} view="inbox" count={waiting}>
            Inbox
          </Tab>
          <Tab route={route} view="all">
            All threads
          </Tab>
          {route.view === "all" ? (
            <StateFilter route={route} />
          ) : threads.length > 0 ? (
            <Button
              look="bare"
              className="-mr-3 ml-auto"
              aria-pressed={batch.selecting}
              onClick={batch.selecting ? batch.clear : batch.start}
            >
              {batch.selecting ? "Done selecting" : "Select"}
            </Button>
          ) : null}
        </nav>
        <Search route={route} />
      </div>
      {query.error && !query.isFetchNextPageError ? (
        <div className="p-3">
          <ReadError error={query.error} what="The list" onRetry={() => void query.refetch()} />
        </div>
      ) : null}
      <Decided batch={batch} />
      {query.isPending ? <Skeleton lines={6} /> : null}
      <ul role="list" onKeyDown={onKeyDown}>
        {threads.map((thread) => (
          <Row
            key={thread.id}
            thread={thread}
            href={href({ ...route, threadId: thread.id })}
            current={thread.id === currentId}
            selecting={batch.selecting}
            chosen={batch.chosen.has(thread.id)}
            {...(route.view === "inbox"
              ? {
                  onToggle: () => {
                    batch.toggle(thread.id);
                  },
                }
              : {})}
            onOpen={() => {
              onOpen(thread.id);
            }}
            onFocus={() => {
              onFocus(thread.id);
            }}
          />
        ))}
      </ul>
      {query.isSuccess && threads.length === 0 ? <Nothing route={route} onNew={onNew} /> : null}
      {query.hasNextPage ? (
        <div className="p-3 text-center">
          <Button disabled={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
            {query.isFetchingNextPage ? "Reading…" : query.isFetchNextPageError ? "Try again" : "Show more"}
          </Button>
        </div>
      ) : null}
      <BatchBar batch={batch} />
    </section>
  );
}

function Nothing({ route, onNew }: { route: Route; onNew: () => void }) {
  if (route.view === "inbox") {
    return <Empty title="Nothing waits for you">What needs a decision appears here by itself.</Empty>;
  }
  if (route.words.trim() !== "") return <Empty title="No thread holds these words" />;
  if (route.filter !== "") return <Empty title="No threads in this state" />;
  return (
    <Empty title="No threads yet">
      <p className="mb-4">A thread is a matter of work that an agent thinks through and you decide on.</p>
      <Button look="primary" onClick={onNew}>
        Open the first one
      </Button>
    </Empty>
  );
}

interface TabProps {
  route: Route;
  view: Route["view"];
  count?: number;
  children: string;
}

function Tab({ route, view, count = 0, children }: TabProps) {
  const target: Route = { threadId: undefined, view, filter: "", words: "" };
  const current = route.view === view;
  return (
    <a
      href={href(target)}
      aria-current={current ? "page" : undefined}
      onClick={(event) => {
        event.preventDefault();
        navigate(target);
      }}
      className="-mb-px flex h-10 items-center gap-2 border-b-2 border-transparent text-sm font-medium text-muted -outline-offset-2 hover:text-ink aria-[current]:border-indigo aria-[current]:text-ink"
    >
      {children}
      {count > 0 ? (
        <span className="rounded bg-weld-wash px-1 text-xs tabular-nums leading-5 text-weld">
          {count}
          <span className="sr-only"> waiting</span>
        </span>
      ) : null}
    </a>
  );
}

function StateFilter({ route }: { route: Route }) {
  return (
    <select
      aria-label="State"
      value={route.filter}
      onChange={(event) => {
        navigate({ ...route, filter: event.target.value }, { replace: true });
      }}
      className="ml-auto min-h-8 min-w-0 max-w-44 rounded-md border border-line-strong bg-raised px-2 text-sm"
    >
      <option value="">Any state</option>
      {Object.entries(GROUPS).map(([value, [label]]) => (
        <option key={value} value={value}>
          {label}
        </option>
      ))}
      <optgroup label="One state">
        {THREAD_STATES.map((state) => (
          <option key={state} value={state}>
            {plainName(state)}
          </option>
        ))}
      </optgroup>
    </select>
  );
}
