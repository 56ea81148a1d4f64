// Reads of /api as queries. Nothing here polls: freshness comes from the live feed (live/), which invalidates these keys.
import {
  infiniteQueryOptions,
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
/** A log longer than this is shown from its start with a note; 20 pages are 20,000 events. */
const EVENT_PAGES = 20;

export const keys = {
  inbox: ["inbox"] as const,
  threads: ["threads"] as const,
  thread: (id: string) => ["thread", id] as const,
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

export function useThreads(states: readonly ThreadState[], enabled: boolean) {
  const filter = states.map((state) => `&state=${state}`).join("");
  return useInfiniteQuery({
    queryKey: [...keys.threads, ...states],
    queryFn: ({ pageParam, signal }) =>
      request<ThreadPage>(`/api/threads?${pageQuery(pageParam)}${filter}`, { signal }),
    initialPageParam: "",
    getNextPageParam: (page: ThreadPage) => page.next_page_token || undefined,
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
  complete: boolean;
}

export function useEvents(id: string) {
  return useQuery({
    queryKey: [...keys.thread(id), "events"],
    queryFn: ({ signal }) => readLog(id, signal),
  });
}

async function readLog(id: string, signal: AbortSignal): Promise<Log> {
  const events: ThreadEvent[] = [];
  let token = "";
  for (let page = 0; page < EVENT_PAGES; page += 1) {
    const more = token === "" ? "" : `&page_token=${encodeURIComponent(token)}`;
    const answer = await request<EventPage>(`${threadPath(id)}/events?page_size=${EVENT_PAGE}${more}`, {
      signal,
    });
    events.push(...(answer.events ?? []));
    token = answer.next_page_token ?? "";
    if (token === "") return { events, complete: true };
  }
  return { events, complete: false };
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
