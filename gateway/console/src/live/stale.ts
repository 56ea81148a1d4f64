// Marks queries stale. An event tells its thread and the root, not what lies between: every umbrella of that family
// that was read shows or counts the thread, at any depth (design/threads.md §0.7), and is read again.
import type { QueryClient } from "@tanstack/react-query";
import { keys } from "../api/queries";
import type { Thread } from "../api/types";
import type { Key } from "./touched";

export function invalidate(client: QueryClient, stale: Key[] | "all"): void {
  if (stale === "all") {
    void client.invalidateQueries();
    return;
  }
  const resolved = stale.flatMap((key) => (key[0] === "family" ? umbrellas(client, key[1] ?? "") : [key]));
  for (const queryKey of new Map(resolved.map((key) => [JSON.stringify(key), key])).values()) {
    void client.invalidateQueries({ queryKey });
  }
}

function umbrellas(client: QueryClient, root: string): Key[] {
  const read = client
    .getQueryCache()
    .findAll({ queryKey: ["thread"], predicate: (query) => query.queryKey.length === 2 })
    .map((query) => query.state.data as Thread | undefined);
  return read
    .filter((thread) => thread?.root_id === root && (thread.sub_thread_count ?? 0) > 0)
    .map((thread) => keys.thread(thread?.id ?? ""));
}
