import { expect, it } from "vitest";
import type { Worker } from "./types";
import {
  lengthOf,
  marksOf,
  nameFault,
  reasonOf,
  sessionOf,
  statusOf,
  summary,
  workerEnd,
  writerOf,
} from "./words";

const WORKER: Worker = {
  name: "alpha",
  id: "wrk_1",
  coordinator_session_id: "ses_1",
  kind: "subagent",
  status: "running",
  reason: "",
  has_result: false,
  partial: false,
  brief: "count",
  note_count: 0,
  result_length: 0,
  result_version: 0,
  waiting: false,
  cancel_requested: false,
  cancel_reason: "",
  late: false,
  create_time: "2026-01-01T00:00:00Z",
};

it("has words for every status and reason of the protos, and shows others by name", () => {
  for (const reason of [
    "completed",
    "failed",
    "timeout",
    "budget_exhausted",
    "launch_failed",
    "result_too_large",
    "cancelled",
    "interrupted",
    "runner_lost",
  ])
    expect(reasonOf(reason)).toMatch(/^[A-Z].* .*\.$/);
  expect(reasonOf("out_of_paper")).toBe("Out of paper.");
  expect(reasonOf("")).toBe("");
  expect(statusOf("spawning").label).toBe("Queued");
  expect(statusOf("asleep").label).toBe("Asleep");
});

it.each([
  [{}, []],
  [{ waiting: true }, ["Waits for you"]],
  [{ has_result: true, partial: true }, ["Interim result"]],
  [{ cancel_requested: true }, ["Stopping"]],
  [{ status: "failed", reason: "failed", has_result: true, partial: true }, ["Partial"]],
  [{ status: "interrupted", waiting: true, cancel_requested: true }, ["No text"]],
  [{ status: "succeeded", has_result: true, late: true, kind: "session" }, ["Late", "By hand"]],
] as [Partial<Worker>, string[]][])("marks of %j", (change, marks) => {
  expect(marksOf({ ...WORKER, ...change }).map(({ text }) => text)).toEqual(marks);
});

it("sums up in a fixed order", () => {
  expect(summary([])).toBe("");
  expect(summary([{ ...WORKER, status: "succeeded" }])).toBe("1 worker: 1 succeeded");
  expect(summary([{ ...WORKER, status: "failed" }, WORKER, WORKER])).toBe("3 workers: 2 running, 1 failed");
});

it("knows where a worker can be watched", () => {
  expect(sessionOf(WORKER)).toBeUndefined();
  expect(sessionOf({ ids: { subagent_session_id: "ses_2" } })).toBe("ses_2");
  expect(sessionOf({ ids: { worker_session_id: "ses_3" } })).toBe("ses_3");
});

it("tells an end in the activity", () => {
  expect(workerEnd({ reason: "completed", hasResult: true, partial: false, late: false })).toBe("");
  expect(workerEnd({ reason: "timeout", hasResult: true, partial: true, late: true })).toBe(
    "Its time was up before it was done. Its text is partial. It came after the turn that started it.",
  );
});

it.each([
  ["alpha", true],
  ["0_a-b", true],
  ["a".repeat(64), true],
  ["a".repeat(65), false],
  ["Alpha", false],
  ["-a", false],
  ["a\n", false],
  ["taken", false],
])("name %j is fit: %s", (name, fit) => {
  expect(nameFault(name, ["taken"]) === undefined).toBe(fit);
});

it("counts code points", () => {
  expect(lengthOf("a🧵é")).toBe(3);
});

it("names who wrote a note, never by an id", () => {
  expect(writerOf("agent:ses_1", "ses_1")).toBe("the coordinator");
  expect(writerOf("agent:ses_2", "ses_1")).toBe("the worker");
  expect(writerOf("user:ann", "ses_1")).toBe("ann");
  expect(writerOf("user:a:b", "ses_1")).toBe("a:b");
  expect(writerOf("service", "ses_1")).toBe("service");
});
