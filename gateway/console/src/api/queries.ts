// Reads of /api as queries. Nothing here polls: freshness comes from the live feed (live/), which invalidates these keys.
import {
  infiniteQueryOptions,
  keepPreviousData,
  queryOptions,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import type { ThreadState } from "../gen/events";
import { request } from "./http";
import type { EventPage, Explanation, Thread, ThreadEvent, ThreadPage } from "./types";

const PAGE = 100;
const EVENT_PAGE = 1000;
/** A longer log is shown from its start, with a note. */
export const MOST_EVENTS = 20_000;

export const keys = {
  inbox: ["inbox"] as const,
  threads: ["threads"] as const,
  thread: (id: string) => ["thread", id] as const,
  groups: (id: string) => ["thread", id, "groups"] as const,
  /** Stands for every umbrella of the family that is on the page (live/stale.ts); no query has this key. */
  family: (root: string) => ["family", root] as const,
};

const inboxOptions = infiniteQueryOptions({
  queryKey: keys.inbox,
  queryFn: ({ pageParam, signal }) => request<ThreadPage>(`/api/inbox?${pageQuery(pageParam)}`, { signal }),
  initialPageParam: "",
  getNextPageParam: (page) => page.next_page_token || undefined,
});

export function useInbox() {
  return useInfiniteQuery(inboxOptions);
}

/** All threads, or with `words` those of any level that hold them. */
export function useThreads(states: readonly ThreadState[], words: string, enabled: boolean) {
  const search = words === "" ? "" : `&q=${encodeURIComponent(words)}`;
  const filter = states.map((state) => `&state=${state}`).join("") + search;
  return useInfiniteQuery({
    queryKey: [...keys.threads, filter],
    queryFn: ({ pageParam, signal }) =>
      request<ThreadPage>(`/api/threads?${pageQuery(pageParam)}${filter}`, { signal }),
    initialPageParam: "",
    getNextPageParam: (page: ThreadPage) => page.next_page_token || undefined,
    // While one types, what was found before stays until there is something better.
    placeholderData: keepPreviousData,
    enabled,
  });
}

function pageQuery(token: string): string {
  return token === "" ? `page_size=${PAGE}` : `page_size=${PAGE}&page_token=${encodeURIComponent(token)}`;
}

export function useThread(id: string) {
  return useQuery(
    queryOptions({
      queryKey: keys.thread(id),
      queryFn: ({ signal }) => request<Thread>(threadPath(id), { signal }),
    }),
  );
}

export interface Log {
  events: ThreadEvent[];
  /** Token of the last page, and how many events stand before it. */
  tail: { token: string; before: number };
  complete: boolean;
}

export function useEvents(id: string) {
  const client = useQueryClient();
  const queryKey = [...keys.thread(id), "events"];
  return useQuery({
    queryKey,
    queryFn: ({ signal }) => readLog(id, client.getQueryData<Log>(queryKey), signal),
  });
}

/** Reads on from the last page that is known: a log is append-only, so what stands before that page stands. */
async function readLog(id: string, known: Log | undefined, signal: AbortSignal): Promise<Log> {
  const tail = known?.tail ?? { token: "", before: 0 };
  const events = known?.events.slice(0, tail.before) ?? [];
  let token = tail.token;
  while (events.length < MOST_EVENTS) {
    const more = token === "" ? "" : `&page_token=${encodeURIComponent(token)}`;
    const answer = await request<EventPage>(`${threadPath(id)}/events?page_size=${EVENT_PAGE}${more}`, {
      signal,
    });
    const before = events.length;
    events.push(...(answer.events ?? []));
    if (!answer.next_page_token) return { events, tail: { token, before }, complete: true };
    token = answer.next_page_token;
  }
  return { events, tail: { token, before: events.length }, complete: false };
}

export function useExplanation(id: string) {
  return useQuery({
    queryKey: [...keys.thread(id), "explain"],
    queryFn: ({ signal }) => request<Explanation>(`${threadPath(id)}/explain`, { signal }),
  });
}

export interface NewThread {
  title: string;
  description: string;
  key: string;
}

export function useCreateThread() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ title, description, key }: NewThread) =>
      request<Thread>("/api/threads", { method: "POST", body: { title, description }, key }),
    onSuccess: (thread) => {
      client.setQueryData(keys.thread(thread.id), thread);
      void client.invalidateQueries({ queryKey: keys.threads });
    },
  });
}

export function threadPath(id: string): string {
  return `/api/threads/${encodeURIComponent(id)}`;
}
