// Two pages and a little query string; the History API needs no library for that.
import { useCallback, useSyncExternalStore } from "react";

export interface Route {
  /** Set on /threads/{id}. */
  threadId: string | undefined;
  view: "inbox" | "all";
  /** Value of the state filter in view "all"; "" = any. */
  filter: string;
  /** Words that are searched for in view "all"; "" = none. */
  words: string;
}

const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  if (listeners.size === 0) window.addEventListener("popstate", notify);
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) window.removeEventListener("popstate", notify);
  };
}

function notify(): void {
  for (const listener of listeners) listener();
}

export function parse(url: string): Route {
  const { pathname, searchParams } = new URL(url, "http://console");
  const match = /^\/threads\/([^/]+)\/?$/.exec(pathname);
  return {
    threadId: match?.[1] === undefined ? undefined : decoded(match[1]),
    view: searchParams.get("view") === "all" ? "all" : "inbox",
    filter: searchParams.get("state") ?? "",
    words: searchParams.get("q") ?? "",
  };
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

export function href({ threadId, view, filter, words }: Route): string {
  const path = threadId === undefined ? "/" : `/threads/${encodeURIComponent(threadId)}`;
  const query = new URLSearchParams();
  if (view === "all") query.set("view", "all");
  if (view === "all" && filter !== "") query.set("state", filter);
  if (view === "all" && words !== "") query.set("q", words);
  const text = query.toString();
  return text === "" ? path : `${path}?${text}`;
}

export function navigate(route: Route, options: { replace?: boolean } = {}): void {
  go(href(route), options);
}

/** Any address of the console; pages beside the threads read theirs from `usePath`. */
export function go(url: string, options: { replace?: boolean } = {}): void {
  if (options.replace) history.replaceState(null, "", url);
  else history.pushState(null, "", url);
  notify();
}

/** Opens a thread over the list that is shown. */
export function openThread(threadId: string): void {
  navigate({ ...parse(current()), threadId });
}

function current(): string {
  return location.pathname + location.search;
}

export function useRoute(): Route {
  return parse(useSyncExternalStore(subscribe, current));
}

export function usePath(): string {
  return useSyncExternalStore(subscribe, () => location.pathname);
}

/** Whether list and thread stand side by side. */
export function useWide(): boolean {
  return useMedia("(min-width: 1024px)");
}

export function useMedia(query: string): boolean {
  const subscribeTo = useCallback(
    (listener: () => void) => {
      const media = window.matchMedia(query);
      media.addEventListener("change", listener);
      return () => {
        media.removeEventListener("change", listener);
      };
    },
    [query],
  );
  return useSyncExternalStore(subscribeTo, () => window.matchMedia(query).matches);
}
