import { expect, it } from "vitest";
import { Problem } from "../api/http";
import { refused } from "./refused";
import { touchedWorkers } from "./touched";

const problem = (reason: string, metadata: Record<string, string> = {}) =>
  new Problem(409, "Conflict", "as the service says it", reason, metadata, undefined);

it.each([
  ["NAME_TAKEN", {}, "This session has a worker of that name already. Choose another name."],
  ["WORKER_ENDED", { status: "succeeded" }, "It had ended already (succeeded), and an end stays."],
  [
    "VALUE_TOO_LARGE",
    { field: "note", limit: "2000" },
    "note is too long: at most 2000 characters. Nothing was cut, and nothing was kept.",
  ],
  ["SOMETHING_NEW", { field: "brief" }, "brief: as the service says it"],
])("says %s in a sentence", (reason, metadata, sentence) => {
  expect(refused(problem(reason, metadata))).toBe(sentence);
});

it("touches the coordinator's workers and the worker's own session", () => {
  expect(touchedWorkers('{"coordinator_session_id":"c","worker_session_id":"w"}')).toEqual([
    ["workers", "c"],
    ["assignment", "w"],
  ]);
  expect(touchedWorkers('{"coordinator_session_id":"c","worker_session_id":""}')).toEqual([["workers", "c"]]);
  expect(touchedWorkers("nonsense")).toBe("all");
});
