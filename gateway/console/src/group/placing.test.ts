import { describe, expect, it } from "vitest";
import type { Thread } from "../api/types";
import { columnsOf, keyOf, partsOf, placed, plan, type Column } from "./placing";

const thread = (id: string, state: Thread["state"], ...items: string[]): Thread => ({
  name: `threads/${id}`,
  id,
  etag: "1",
  state,
  title: id,
  create_time: "2026-03-10T12:00:00Z",
  context_items: items.map((item) => ({ id: item })),
});

const board = (): Column[] =>
  columnsOf([
    thread("a", "awaiting_confirmation", "1", "2", "3"),
    thread("b", "awaiting_confirmation", "4"),
    thread("c", "executing", "5"),
    thread("d", "dismissed", "6"),
  ]);

const shown = (columns: readonly Column[]): string =>
  columns.map((column) => `${column.thread.id}:${column.items.map((item) => item.id).join("")}`).join(" ");

describe("columns", () => {
  it("are the open ones; records of sub-LLMs are no items", () => {
    expect(shown(board())).toBe("a:123 b:4 c:5");
    const audited = { ...thread("e", "monitoring", "7"), context_items: [{ id: "s", source: "subcall" }] };
    expect(columnsOf([audited])[0]?.items).toEqual([]);
  });

  it("show a move before it is answered, appended in order", () => {
    expect(shown(placed(board(), [{ from: "a", to: "b", items: ["1", "3"] }]))).toBe("a:2 b:413 c:5");
  });

  it("are as before when the move is taken away", () => {
    const before = board();
    placed(before, [{ from: "a", to: "b", items: ["1"] }]);
    expect(shown(placed(before, []))).toBe("a:123 b:4 c:5");
  });

  it("do not double what the service has carried out meanwhile", () => {
    const after = columnsOf([
      thread("a", "awaiting_confirmation"),
      thread("b", "awaiting_confirmation", "1"),
    ]);
    expect(shown(placed(after, [{ from: "a", to: "b", items: ["1"] }]))).toBe("a: b:1");
  });

  it("keep an item whose destination has ended", () => {
    expect(shown(placed(board(), [{ from: "a", to: "d", items: ["1"] }]))).toBe("a:123 b:4 c:5");
  });

  it("follow a second move of the same item", () => {
    const moves = [
      { from: "a", to: "b", items: ["1"] },
      { from: "b", to: "a", items: ["1"] },
    ];
    expect(shown(placed(board(), moves))).toBe("a:231 b:4 c:5");
  });
});

describe("plan", () => {
  it("is one call for each column that is left, in the board's order", () => {
    const keys = [keyOf("b", "4"), keyOf("a", "3"), keyOf("a", "1")];
    expect(plan(board(), keys, "x")).toEqual([
      { from: "a", to: "x", items: ["1", "3"] },
      { from: "b", to: "x", items: ["4"] },
    ]);
  });

  it("leaves out what is there already and what is executing", () => {
    expect(plan(board(), [keyOf("b", "4"), keyOf("c", "5")], "b")).toEqual([]);
  });
});

it("a key keeps an item's own separator", () => {
  expect(partsOf(keyOf("a", "x|y"))).toEqual({ column: "a", item: "x|y" });
});
