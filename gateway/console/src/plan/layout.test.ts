import { expect, it } from "vitest";
import { layout } from "./layout";
import type { Head, Node } from "./types";

const node = (turn_id: string, parent_turn_id: string): Node => ({
  turn_id,
  parent_turn_id,
  session_id: "s",
  number: 1,
  running: false,
  outcome: "ok",
  objective: "",
  leaves: 0,
  done_leaves: 0,
  restorable: true,
});

const head = (session_id: string, turn_id: string, fork_turn_id = ""): Head => ({
  session_id,
  turn_id,
  state: "ready",
  origin_session_id: "",
  fork_turn_id,
  objective: "",
  leaves: 0,
  done_leaves: 0,
});

it("gives each session a lane, and what is shared to the oldest", () => {
  const graph = {
    nodes: [node("a", ""), node("b", "a"), node("c", "b"), node("x", "a"), node("y", "x")],
    heads: [head("one", "c"), head("two", "y", "a")],
  };
  const { rows, edges, lanes } = layout(graph);
  expect(rows.map(({ key, lane }) => `${key}${String(lane)}`)).toEqual(["a0", "b0", "c0", "x1", "y1"]);
  expect(rows.map(({ heads }) => heads.map(({ session_id }) => session_id))).toEqual([
    [],
    [],
    ["one"],
    [],
    ["two"],
  ]);
  expect(edges).toContainEqual({ from: { lane: 0, row: 0 }, to: { lane: 1, row: 3 } });
  expect(lanes).toBe(2);
});

it("draws a branch in which nothing was said yet", () => {
  const graph = { nodes: [node("a", "")], heads: [head("one", "a"), head("two", "a", "a")] };
  const { rows, edges } = layout(graph);
  expect(rows.map(({ key, lane }) => [key, lane])).toEqual([
    ["a", 0],
    ["two", 1],
  ]);
  expect(edges).toEqual([{ from: { lane: 0, row: 0 }, to: { lane: 1, row: 1 } }]);
});

it("draws a conversation without turns", () => {
  expect(layout({ nodes: [], heads: [head("one", "")] }).rows.map(({ key }) => key)).toEqual(["one"]);
});
