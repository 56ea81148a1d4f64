import { expect, it } from "vitest";
import type { PlanCommand } from "./api";
import type { Step } from "./types";
import { undoing } from "./undo";

/** "a", "b 2" (under it), "c done" … by number. */
function plan(...lines: string[]): Step[] {
  return lines.map((line, at) => {
    const [number = "", text = "", done] = line.split(" ");
    const leaf = !lines.some((other) => other.startsWith(`${number}.`));
    return { id: text, index: at + 1, number, text, done: done === "done", origin_id: text, leaf };
  });
}

function commands(command: PlanCommand, before: Step[], ...states: Step[][]): (PlanCommand | undefined)[] {
  const undo = undoing(command, before, states[0] ?? []);
  return (undo?.steps ?? []).map((meant, at) => meant(states[Math.min(at, states.length - 1)] ?? []));
}

it("unticks what a tick changed, wherever it stands by then", () => {
  const before = plan("1 a", "2 b done");
  const now = plan("1 x", "2 a done", "3 b done");
  expect(commands({ verb: "toggle", body: { indices: [1, 2], done: true } }, before, now)).toEqual([
    { verb: "toggle", body: { indices: [2], done: false } },
  ]);
});

it("gives the words back", () => {
  const before = plan("1 a", "2 b");
  expect(commands({ verb: "edit", body: { edits: [{ index: 2, text: "x" }] } }, before, before)).toEqual([
    { verb: "edit", body: { edits: [{ index: 2, text: "b" }] } },
  ]);
});

it("takes away what was added, and only that", () => {
  const before = plan("1 a");
  const after = plan("1 a", "2 b", "3 c");
  expect(commands({ verb: "add", body: { items: ["b", "c"] } }, before, after)).toEqual([
    { verb: "remove", body: { indices: [2, 3] } },
  ]);
});

it("moves a subtree back under its parent, then to its place", () => {
  const before = plan("1 a", "1.1 b", "1.2 c", "2 d");
  const moved = plan("1 a", "1.1 c", "2 d", "2.1 b");
  const home = plan("1 a", "1.1 c", "1.2 b", "2 d");
  expect(commands({ verb: "move", body: { index: 2, parent_index: 4 } }, before, moved, home)).toEqual([
    { verb: "move", body: { index: 4, parent_index: 1 } },
    { verb: "order", body: { step_ids: ["a", "b", "c", "d"] } },
  ]);
});

it("moves a step of the top level back to the top level", () => {
  const before = plan("1 a", "2 b");
  const moved = plan("1 a", "1.1 b");
  const home = plan("1 b", "2 a");
  expect(commands({ verb: "move", body: { index: 2, parent_index: 1 } }, before, moved, home)).toEqual([
    { verb: "move", body: { index: 2, after_index: 0 } },
    { verb: "order", body: { step_ids: ["a", "b"] } },
  ]);
});

it("brings a removed leaf back to its place, done as it was", () => {
  const before = plan("1 a", "1.1 b done", "1.2 c");
  const gone = plan("1 a", "1.1 c");
  const again = plan("1 a", "1.1 c", "1.2 new");
  const there = plan("1 a", "1.1 new", "1.2 c");
  expect(commands({ verb: "remove", body: { indices: [2] } }, before, gone, again, there)).toEqual([
    { verb: "add", body: { items: ["b"], parent_index: 1 } },
    { verb: "order", body: { step_ids: ["a", "new", "c"] } },
    { verb: "toggle", body: { indices: [2], done: true } },
  ]);
});

it("does not offer to bring a subtree back", () => {
  expect(undoing({ verb: "remove", body: { indices: [1] } }, plan("1 a", "1.1 b"), [])).toBeUndefined();
});

it("does nothing where what it is about has gone, or others have come", () => {
  const before = plan("1 a", "2 b");
  const others = plan("1 c", "2 a");
  expect(commands({ verb: "order", body: { step_ids: ["b", "a"] } }, before, others)).toEqual([undefined]);
  expect(commands({ verb: "toggle", body: { indices: [2], done: true } }, before, others)).toEqual([
    undefined,
  ]);
});
