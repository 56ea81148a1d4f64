import { expect, it } from "vitest";
import type { Thread } from "../api/types";
import { waitsOf } from "./waits";

const umbrella = (open_children: number, sub_thread_count: number): Thread =>
  ({ state: "monitoring", open_children, sub_thread_count, parent_relationship: "group" }) as Thread;

it("says how much of an umbrella is open", () => {
  expect(waitsOf(umbrella(2, 3))).toBe("Waiting for 2 of 3 groups");
  expect(waitsOf(umbrella(3, 3))).toBe("Waiting for its 3 groups");
  expect(waitsOf(umbrella(1, 1))).toBe("Waiting for its group");
  expect(waitsOf({ ...umbrella(1, 2), parent_relationship: "singular" })).toBe(
    "Waiting for 1 of 2 sub-threads",
  );
});

it("is what any other state asks", () => {
  expect(waitsOf({ ...umbrella(0, 2), state: "done" })).toBe("Done");
  expect(waitsOf(umbrella(0, 2))).toBe("Waiting for its sub-threads");
});
