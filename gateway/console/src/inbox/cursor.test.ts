import { expect, it } from "vitest";
import { at, NOWHERE, step } from "./cursor";

const IDS = ["a", "b", "c"];

it("starts at the top and stops at both ends", () => {
  expect(step(IDS, NOWHERE, 1)).toEqual({ id: "a", index: 0 });
  expect(step(IDS, at(IDS, "c"), 1).id).toBe("c");
  expect(step(IDS, at(IDS, "a"), -1).id).toBe("a");
  expect(step([], NOWHERE, 1)).toBe(NOWHERE);
});

it("stays on its thread when rows come in above", () => {
  const cursor = at(["x", ...IDS], "b", at(IDS, "b"));
  expect(cursor).toEqual({ id: "b", index: 2 });
});

it("goes on from where a decided thread was", () => {
  const gone = at(["a", "c"], "b", at(IDS, "b"));
  expect(step(["a", "c"], gone, 1).id).toBe("c");
  expect(step(["a", "c"], gone, -1).id).toBe("a");
});
