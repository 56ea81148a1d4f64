// Decisions on an action that is shown on its umbrella's card: which are offered, and what goes to its host
// (design/threads.md §0.6, §0.7).
import type { Intention } from "./decisions";
import type { Action, Thread } from "./types";

export type HoistedVerb = "accept" | "redirect_action" | "dismiss";

/** Hoisted actions as the service orders them: pending first, settled last. */
export function hoistedOn(thread: Thread): Action[] {
  return (thread.actions ?? []).filter((action) => action.host_thread_id);
}

/** Failed is settled, yet its host waits: it can be redirected or dismissed (§0.6). */
export function offeredOn(action: Action): readonly HoistedVerb[] {
  if (action.state === "failed") return ["redirect_action", "dismiss"];
  if (action.state !== "pending") return [];
  switch (action.host_state ?? "awaiting_confirmation") {
    case "awaiting_confirmation":
      return ["accept", "redirect_action", "dismiss"];
    case "awaiting_review":
    case "awaiting_redirect":
    case "awaiting_intent_confirmation":
    case "awaiting_context_confirmation":
      return ["redirect_action", "dismiss"];
    default:
      return ["dismiss"];
  }
}

/** Only at the gate does the proposal stand; elsewhere there is nothing to cite. */
function citation(action: Action): Record<string, unknown> {
  const stands = (action.host_state ?? "awaiting_confirmation") === "awaiting_confirmation";
  return stands && action.state === "pending"
    ? { proposal_id: action.proposal_id, proposal_digest: action.proposal_digest }
    : {};
}

export function onHost(action: Action, verb: HoistedVerb, key: string, feedback?: string): Intention {
  const said = feedback === undefined ? {} : { feedback: feedback.trim() };
  return { verb, body: { ...citation(action), ...said }, key };
}

/** The word on a card's badge; undefined where the card only waits. */
export function badgeOf(action: Action): string | undefined {
  switch (action.state) {
    case "done":
    case "rejected":
    case "failed":
      return action.state;
    case "executing":
      return "running";
    default:
      return undefined;
  }
}
