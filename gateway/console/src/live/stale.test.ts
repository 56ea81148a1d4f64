import { QueryClient } from "@tanstack/react-query";
import { expect, it } from "vitest";
import { keys } from "../api/queries";
import { invalidate } from "./stale";

function reader(...threads: { id: string; root_id: string; sub_thread_count?: number }[]) {
  const client = new QueryClient();
  for (const thread of threads) {
    client.setQueryData(keys.thread(thread.id), thread);
    client.setQueryData([...keys.thread(thread.id), "events"], {});
  }
  const stale = (): string[] =>
    client
      .getQueryCache()
      .findAll({ predicate: (query) => query.state.isInvalidated })
      .map((query) => query.queryKey.join(" "));
  return { client, stale };
}

it("reads again every umbrella between a changed thread and its root, and no leaf beside it", () => {
  const { client, stale } = reader(
    { id: "root", root_id: "root", sub_thread_count: 2 },
    { id: "middle", root_id: "root", sub_thread_count: 1 },
    { id: "leaf", root_id: "root" },
    { id: "beside", root_id: "root" },
    { id: "other", root_id: "other", sub_thread_count: 9 },
  );
  invalidate(client, [keys.thread("leaf"), keys.inbox, keys.family("root")]);
  expect(stale().sort()).toEqual([
    "thread leaf",
    "thread leaf events",
    "thread middle",
    "thread middle events",
    "thread root",
    "thread root events",
  ]);
});

it("reads everything again when it is not known what changed", () => {
  const { client, stale } = reader({ id: "leaf", root_id: "root" });
  invalidate(client, "all");
  expect(stale()).toHaveLength(2);
});
