import { describe, expect, it } from "vitest";
import type { Json, ThreadEvent } from "../api/types";
import { actorName, sentence } from "./sentences";

const event = (kind: string, data: Record<string, Json> = {}): ThreadEvent => ({
  id: "evt_1",
  seq: "1",
  kind,
  event_time: "2026-03-10T12:00:00Z",
  data,
});

describe("sentence", () => {
  it("tells a decision and where it led", () => {
    const { text, tone } = sentence(
      event("state_transition", { from: "awaiting_confirmation", to: "executing", trigger: "execute" }),
    );
    expect(text).toBe("approved the action → executing");
    expect(tone).toBe("done");
  });

  it("does not call standing still a move", () => {
    const data = { from: "awaiting_confirmation", to: "awaiting_confirmation", trigger: "edited" };
    expect(sentence(event("state_transition", data)).text).toBe("edited");
  });

  it("tells what happens in a family", () => {
    const spawned = event("groups_spawned", {
      child_thread_ids: ["a", "b"],
      child_labels: ["Bills", "Rest"],
    });
    expect(sentence(spawned)).toMatchObject({ text: "made 2 groups", quote: "Bills, Rest" });
    const ended = event("subthread_terminal_reported", { child_terminal_state: "dismissed" });
    expect(sentence(ended).text).toBe("heard that a sub-thread has ended: dismissed");
    expect(sentence(event("context_item_moved", { direction: "in" })).text).toBe("moved an item here");
  });

  it("quotes feedback", () => {
    expect(sentence(event("action_redirected_with_feedback", { feedback: "not by mail" })).quote).toBe(
      "not by mail",
    );
  });

  it("names what it does not know, and survives malformed data", () => {
    expect(sentence(event("worker_noticed")).text).toBe("worker noticed");
    expect(sentence(event("state_transition", { trigger: 3, to: null })).text).toBe("moved");
    expect(sentence(event("action_inferred", { payload: [1] })).text).toBe("proposed an action");
    expect(sentence(event("execution_finished", { success: "yes" })).tone).toBe("warn");
  });
});

describe("actorName", () => {
  it("prefers the subject, and calls the machine by the house's name", () => {
    expect(actorName({ kind: "user", subject: "ana" })).toBe("ana");
    expect(actorName({ kind: "fsm_engine" })).toBe("treadle");
    expect(actorName({ kind: "service" })).toBe("runner");
    expect(actorName(undefined)).toBe("treadle");
  });
});
