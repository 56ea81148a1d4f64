import { expect, it } from "vitest";
import { ticked } from "./ticking";
import type { Plan } from "./types";

const step = (index: number, number: string, leaf: boolean) => ({
  id: `stp_${String(index)}`,
  index,
  number,
  text: "",
  done: false,
  origin_id: "",
  leaf,
});

const PLAN: Plan = {
  steps: [step(1, "1", false), step(2, "1.1", true), step(3, "1.2", true)],
  version: 4,
  leaves: 2,
  done_leaves: 0,
  complete: false,
};

it("counts leaves as the service will, and goes back", () => {
  const both = ticked(PLAN, { verb: "toggle", body: { indices: [2, 3], done: true } });
  expect([both.done_leaves, both.complete, both.version]).toEqual([2, true, 4]);
  expect(ticked(both, { verb: "toggle", body: { indices: [2, 3], done: true } }, "back")).toEqual(PLAN);
  expect(ticked(PLAN, { verb: "remove", body: { indices: [1] } })).toBe(PLAN);
});
