// Reads of families: children, the columns of a group, what can be picked, and what a decision would cause.
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { request } from "./http";
import { keys, threadPath } from "./queries";
import { ENDED } from "../text/states";
import type { ActionOption, GroupPage, Preview, ThreadPage } from "./types";

const CHILD_PAGE = 50;
const GROUP_PAGE = 200;

function paged(path: string, size: number, token: string): string {
  const more = token === "" ? "" : `&page_token=${encodeURIComponent(token)}`;
  return `${path}?page_size=${size}${more}`;
}

export function useSubThreads(id: string, enabled = true) {
  return useInfiniteQuery({
    queryKey: [...keys.thread(id), "sub"],
    queryFn: ({ pageParam, signal }) =>
      request<ThreadPage>(paged(`${threadPath(id)}/sub`, CHILD_PAGE, pageParam), { signal }),
    initialPageParam: "",
    getNextPageParam: (page) => page.next_page_token || undefined,
    enabled,
  });
}

export function useGroups(id: string) {
  return useInfiniteQuery({
    queryKey: keys.groups(id),
    queryFn: ({ pageParam, signal }) =>
      request<GroupPage>(paged(`${threadPath(id)}/groups`, GROUP_PAGE, pageParam), { signal }),
    initialPageParam: "",
    getNextPageParam: (page) => page.next_page_token || undefined,
  });
}

export function useActionOptions(id: string) {
  return useQuery({
    queryKey: [...keys.thread(id), "options"],
    queryFn: ({ signal }) =>
      request<{ action_options?: ActionOption[] }>(`${threadPath(id)}/action_options`, { signal }),
  });
}

export interface Previewed {
  decision: "dismiss" | "force_close";
  cancelExecuting: boolean;
}

/** What closing the thread would cause now; read again when anything in the family moves. */
export function usePreview(id: string, { decision, cancelExecuting }: Previewed) {
  return useQuery({
    queryKey: [...keys.thread(id), "preview", decision, String(cancelExecuting)],
    queryFn: ({ signal }) =>
      request<Preview>(`${threadPath(id)}/preview`, {
        method: "POST",
        body: { decision, cancel_executing: cancelExecuting },
        signal,
      }),
    staleTime: 0,
    gcTime: 0,
    retry: false,
  });
}

/** The other threads that a previewed decision would end. */
export function closedWith(id: string, preview: Preview): number {
  const others = (preview.events ?? []).filter(
    ({ thread_id, to_state }) => thread_id !== id && to_state !== undefined && ENDED.includes(to_state),
  );
  return new Set(others.map((event) => event.thread_id)).size;
}
