import { expect, it } from "vitest";
import { dropped, endOf, leavesUnder, levelOf, moved, parentOf } from "./tree";
import type { Step } from "./types";

/** Steps named by their numbers, ids likewise. */
function plan(...numbers: string[]): Step[] {
  return numbers.map((number, at) => ({
    id: number,
    index: at + 1,
    number,
    text: number,
    done: false,
    origin_id: number,
    leaf: !numbers.some((other) => other.startsWith(`${number}.`)),
  }));
}

const PLAN = plan("1", "1.1", "1.1.1", "1.2", "2", "3", "3.1");

it("knows levels, subtrees and parents", () => {
  expect(PLAN.map(levelOf)).toEqual([0, 1, 2, 1, 0, 0, 1]);
  expect(PLAN.map((_, at) => endOf(PLAN, at))).toEqual([4, 3, 3, 4, 5, 7, 7]);
  expect(PLAN.map((_, at) => parentOf(PLAN, at))).toEqual([undefined, 0, 1, 0, undefined, undefined, 5]);
});

it("counts leaves under a step", () => {
  const steps = PLAN.map((step) => (step.id === "1.2" ? { ...step, done: true } : step));
  expect(leavesUnder(steps, 0)).toEqual({ done: 1, all: 2 });
});

it("moves whole subtrees among siblings", () => {
  expect(moved(PLAN, 4, "up")).toEqual({
    verb: "order",
    body: { step_ids: ["2", "1", "1.1", "1.1.1", "1.2", "3", "3.1"] },
  });
  expect(moved(PLAN, 1, "down")).toEqual({
    verb: "order",
    body: { step_ids: ["1", "1.2", "1.1", "1.1.1", "2", "3", "3.1"] },
  });
  expect(moved(PLAN, 0, "up")).toBeUndefined();
  expect(moved(PLAN, 3, "down")).toBeUndefined();
});

it("moves in under the sibling before, and out behind the parent", () => {
  expect(moved(PLAN, 4, "in")).toEqual({ verb: "move", body: { index: 5, parent_index: 1 } });
  expect(moved(PLAN, 2, "out")).toEqual({ verb: "move", body: { index: 3, after_index: 2 } });
  expect(moved(PLAN, 1, "in")).toBeUndefined();
  expect(moved(PLAN, 4, "out")).toBeUndefined();
});

it.each([
  [4, 6, "after", { verb: "move", body: { index: 5, after_index: 7 } }],
  [4, 6, "under", { verb: "move", body: { index: 5, parent_index: 7 } }],
  [4, 5, "before", undefined],
  [5, 0, "before", { verb: "move", body: { index: 6, after_index: 0 } }],
  [6, 3, "before", { verb: "move", body: { index: 7, after_index: 2 } }],
  [3, 1, "before", { verb: "order", body: { step_ids: ["1", "1.2", "1.1", "1.1.1", "2", "3", "3.1"] } }],
  [4, 1, "before", undefined],
  [0, 2, "under", undefined],
  [0, 0, "after", undefined],
  [4, 0, "after", undefined],
  [6, 5, "under", undefined],
] as const)("dropping %i on %i, %s", (at, on, zone, command) => {
  expect(dropped(PLAN, at, on, zone)).toEqual(command);
});
