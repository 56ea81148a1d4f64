import { expect, it } from "vitest";
import { Problem } from "../api/http";
import { refused, refusedPick } from "./refused";
import { touchedPlans } from "./touched";

const problem = (reason: string, metadata: Record<string, string> = {}) =>
  new Problem(409, "Conflict", "as the service says it", reason, metadata, undefined);

it.each([
  [
    "PLAN_CHANGED",
    {},
    "The plan has changed meanwhile, and nothing was done. Look at it again, then repeat it.",
  ],
  ["TOO_MANY_STEPS", { limit: "200" }, "A plan has at most 200 steps."],
  [
    "CHERRY_PICK_REFUSED",
    { cause: "parent_missing" },
    "One of the steps cannot be taken over alone (parent missing). Nothing was taken over.",
  ],
  ["SOMETHING_NEW", { field: "items" }, "items: as the service says it"],
])("says %s in a sentence", (reason, metadata, sentence) => {
  expect(refused(problem(reason, metadata))).toBe(sentence);
});

it("says another failure in its own words", () => {
  expect(refused(new Error("no network"))).toBe("no network");
});

it("touches the session's workspace and every graph, and a branch with its session", () => {
  expect(touchedPlans('{"session_id":"s","kind":"plan"}')).toEqual([["plan", "s"], ["plan-graph"]]);
  expect(touchedPlans('{"session_id":"s","kind":"branch","branch_session_id":"b"}')).toEqual([
    ["plan", "s"],
    ["plan-graph"],
    ["sessions"],
    ["session", "b"],
    ["plan", "b"],
  ]);
  expect(touchedPlans("nonsense")).toBe("all");
});

it("says which step cannot be taken over alone", () => {
  const step = { id: "s", index: 1, number: "1", text: "hem", done: false, origin_id: "o", leaf: true };
  const changes = [{ origin_id: "o", kinds: ["added" as const], after: step }];
  const error = new Problem(
    409,
    "Conflict",
    "",
    "CHERRY_PICK_REFUSED",
    { origin_id: "o", cause: "its parent is not in this plan" },
    undefined,
  );
  expect(refusedPick(error, { changes })).toBe(
    "“hem”: its parent is not in this plan. Nothing was taken over; tick what it needs, too.",
  );
  expect(refusedPick(error, { changes: [] })).toContain("One of the steps");
});
