import { expect, it } from "vitest";
import { branchTitle, distinct } from "./names";

it("calls a branch after its origin and its turn", () => {
  expect(branchTitle("Trunk", 2, new Set())).toBe("Trunk, from turn 2");
  expect(branchTitle("Trunk", 2, new Set(["Trunk, from turn 2"]))).toBe("Trunk, from turn 2 (2)");
  expect(branchTitle("Trunk, from turn 2 (2)", 3, new Set())).toBe("Trunk, from turn 3");
});

it("leaves the name to the service where the origin has none", () => {
  expect(branchTitle("  ", 2, new Set())).toBe("");
});

it("keeps within what a title may have, without cutting a letter in two", () => {
  const title = branchTitle("🧵".repeat(200), 1000, new Set());
  expect(Array.from(title)).toHaveLength(200);
  expect(title.endsWith("🧵, from turn 1000")).toBe(true);
});

it("tells the same names apart", () => {
  const names = [
    ["a", "Trunk"],
    ["b", "Trunk"],
    ["c", "Other"],
    ["d", "Trunk"],
  ] as const;
  expect([...distinct(names).values()]).toEqual(["Trunk", "Trunk (2)", "Other", "Trunk (3)"]);
});
