import { describe, expect, it } from "vitest";
import { closing, offered, plain, snooze, withFeedback, withOverrides, withText } from "./decisions";
import type { Action, Thread } from "./types";

const ACTION: Action = { id: "act-1", proposal_id: "prp_1", proposal_digest: "ab12", name: "file_append" };

const thread = (state: Thread["state"], actions: Action[] = [ACTION]): Thread => ({
  name: "threads/thr_1",
  id: "thr_1",
  etag: "7",
  state,
  title: "t",
  create_time: "2026-03-10T12:00:00Z",
  actions,
});

describe("what is offered", () => {
  it("is nothing where nothing may be decided", () => {
    for (const state of [
      "executing",
      "done",
      "dismissed",
      "handed_off",
      "done_cleanup_successful",
    ] as const) {
      expect(offered(thread(state))).toEqual([]);
    }
  });

  it("is no approval without a proposal", () => {
    expect(offered(thread("awaiting_confirmation"))).toContain("accept");
    const without = offered(thread("awaiting_confirmation", []));
    expect(without).toEqual([
      "redirect_action",
      "set_action_proposal",
      "dismiss",
      "later",
      "rename",
      "hand_off",
    ]);
  });

  it("is a clean-up only where an adapter knows the source", () => {
    expect(offered(thread("awaiting_review"))).not.toContain("cleanup");
    expect(offered({ ...thread("awaiting_review"), can_clean_up: true })).toContain("cleanup");
    expect(offered(thread("done_cleanup_unsuccessful")).slice(0, 2)).toEqual([
      "retry_cleanup",
      "accept_cleanup_failure",
    ]);
  });

  it("is nothing about an action that another thread owns", () => {
    const umbrella = thread("awaiting_confirmation", [{ ...ACTION, host_thread_id: "thr_2" }]);
    expect(offered(umbrella)).not.toContain("accept");
  });
});

describe("what is sent", () => {
  const cited = { proposal_id: "prp_1", proposal_digest: "ab12" };

  it("cites what the person looked at", () => {
    const at = thread("awaiting_confirmation");
    expect(plain(at, "accept", "k")).toEqual({ verb: "accept", body: cited, key: "k" });
    expect(withFeedback(at, "redirect_action", " not by mail ", "k").body).toEqual({
      ...cited,
      feedback: "not by mail",
    });
    expect(withOverrides(at, ACTION, { path: "b" }, "k").body).toEqual({
      ...cited,
      action_overrides: { "act-1": { path: "b" } },
    });
  });

  it("cites nothing where no proposal is at stake", () => {
    expect(plain(thread("awaiting_redirect"), "dismiss", "k").body).toEqual({});
    expect(withText(thread("awaiting_intent_clarification", []), "provide", " that one ", "k").body).toEqual({
      text: "that one",
    });
    expect(snooze(4, "k").body).toEqual({ hours: 4 });
  });

  it("closes a family as it was previewed, or together with what is executing", () => {
    expect(closing(false, "9", "k")).toEqual({ verb: "dismiss", body: { etag: "9" }, key: "k" });
    expect(closing(true, undefined, "k")).toEqual({
      verb: "force_close",
      body: { cancel_executing: true },
      key: "k",
    });
  });
});
