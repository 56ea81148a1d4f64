import { describe, expect, it } from "vitest";
import { badgeOf, hoistedOn, offeredOn, onHost } from "./hoisted";
import type { Action, Thread } from "./types";

const hoisted = (state: string, host: Action["host_state"] = "awaiting_confirmation"): Action => ({
  id: "act-1",
  proposal_id: "prp_1",
  proposal_digest: "ab12",
  name: "file_append",
  host_thread_id: "thr_2",
  host_state: host,
  state,
  settled: ["done", "rejected", "failed"].includes(state),
});

describe("what is offered on a hoisted action", () => {
  it("is approval at the gate only: a redirected host keeps its last proposal for a while", () => {
    expect(offeredOn(hoisted("pending"))).toEqual(["accept", "redirect_action", "dismiss"]);
    expect(offeredOn(hoisted("pending", "awaiting_inference"))).toEqual(["dismiss"]);
    expect(offeredOn(hoisted("pending", "awaiting_review"))).toEqual(["redirect_action", "dismiss"]);
  });

  it("is redirect and dismiss on a failed one, and nothing where all is said", () => {
    expect(offeredOn(hoisted("failed", "awaiting_redirect"))).toEqual(["redirect_action", "dismiss"]);
    for (const state of ["done", "rejected", "executing"]) expect(offeredOn(hoisted(state))).toEqual([]);
  });
});

describe("what goes to the host", () => {
  it("cites the proposal where it stands", () => {
    expect(onHost(hoisted("pending"), "accept", "k")).toEqual({
      verb: "accept",
      body: { proposal_id: "prp_1", proposal_digest: "ab12" },
      key: "k",
    });
    expect(onHost(hoisted("failed", "awaiting_redirect"), "redirect_action", "k", " by mail ").body).toEqual({
      feedback: "by mail",
    });
  });
});

it("keeps the order of the service and leaves out the umbrella's own action", () => {
  const own: Action = { id: "act-0", proposal_id: "p", proposal_digest: "d", name: "n" };
  const thread = { actions: [own, hoisted("pending"), hoisted("done")] } as Thread;
  expect(hoistedOn(thread).map((action) => action.state)).toEqual(["pending", "done"]);
});

it("names what is settled or running", () => {
  expect(
    ["pending", "executing", "done", "rejected", "failed"].map((state) => badgeOf(hoisted(state))),
  ).toEqual([undefined, "running", "done", "rejected", "failed"]);
});
