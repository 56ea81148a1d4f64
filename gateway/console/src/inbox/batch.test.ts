import { expect, it } from "vitest";
import type { Thread } from "../api/types";
import { chunks, fits, itemOf } from "./batch";

const thread = (state: Thread["state"], proposed = true): Thread => ({
  name: "threads/thr_1",
  id: "thr_1",
  etag: "1",
  state,
  title: "t",
  create_time: "2026-03-10T12:00:00Z",
  actions: proposed ? [{ id: "act-1", proposal_id: "p", proposal_digest: "d", name: "n" }] : [],
});

it("fits a decision to what a thread offers", () => {
  expect(fits(thread("awaiting_confirmation"), "approve")).toBe(true);
  expect(fits(thread("awaiting_confirmation", false), "approve")).toBe(false);
  expect(fits(thread("awaiting_review"), "approve")).toBe(true);
  expect(fits(thread("awaiting_action_clarification"), "approve")).toBe(false);
  expect(fits(thread("awaiting_redirect"), "reject")).toBe(false);
  expect(fits(thread("awaiting_redirect"), "dismiss")).toBe(true);
});

it("cites the proposal that was looked at, and none where none is at stake", () => {
  expect(itemOf(thread("awaiting_confirmation"), "reject")).toEqual({
    thread_id: "thr_1",
    decision: "reject",
    proposal_id: "p",
    proposal_digest: "d",
  });
  expect(itemOf(thread("awaiting_review"), "approve")).toEqual({ thread_id: "thr_1", decision: "approve" });
});

it("sends no more at once than may be sent", () => {
  expect(chunks([1, 2, 3, 4, 5], 2)).toEqual([[1, 2], [3, 4], [5]]);
  expect(chunks([])).toEqual([]);
});
