// What a person may decide in which state, and the request that says it. The services refuse the rest anyway; this
// list only keeps the console from offering what would be refused (design/threads.md §1.3, §0.2, §0.3).
import type { ThreadState } from "../gen/events";
import type { Action, JsonObject, Thread } from "./types";

export type Verb =
  | "accept"
  | "accept_review"
  | "edit"
  | "provide"
  | "redirect"
  | "redirect_action"
  | "set_action_proposal"
  | "reject"
  | "dismiss"
  | "force_close"
  | "later"
  | "hand_off"
  | "rename"
  | "cleanup"
  | "retry_cleanup"
  | "accept_cleanup_failure";

export interface Intention {
  verb: Verb;
  body: Record<string, unknown>;
  /** Idempotency key of the gesture. */
  key: string;
}

const OPEN: readonly Verb[] = ["dismiss", "later", "rename"];
/** A person's turn: it may also be given away, or its source cleaned up where an adapter knows it. */
const WAIT: readonly Verb[] = [...OPEN, "hand_off", "cleanup"];
const GUESS: readonly Verb[] = ["accept", "edit", "redirect", ...WAIT];

const OFFERED: Record<ThreadState, readonly Verb[]> = {
  proposed: OPEN,
  awaiting_inference: [...OPEN, "set_action_proposal"],
  inferring_intent: OPEN,
  inferring_context: OPEN,
  inferring_action: OPEN,
  awaiting_intent_confirmation: GUESS,
  awaiting_context_confirmation: GUESS,
  awaiting_confirmation: ["accept", "edit", "redirect_action", "reject", "set_action_proposal", ...WAIT],
  awaiting_intent_clarification: ["provide", ...WAIT],
  awaiting_context_clarification: ["provide", ...WAIT],
  awaiting_action_clarification: ["provide", "set_action_proposal", ...WAIT],
  awaiting_review: ["accept_review", "redirect", ...WAIT],
  awaiting_redirect: ["redirect_action", ...WAIT],
  done_cleanup_unsuccessful: ["retry_cleanup", "accept_cleanup_failure", ...OPEN, "hand_off"],
  executing: [],
  cleaning_up: OPEN,
  monitoring: [...OPEN, "hand_off"],
  done: [],
  dismissed: [],
  handed_off: [],
  done_cleanup_successful: [],
};

/** The thread's own proposal that stands, if one does. What is hoisted onto its card is decided at its host. */
export function proposalOf(thread: Thread): Action | undefined {
  return thread.actions?.find((action) => !action.host_thread_id);
}

/** The verbs to offer: without a proposal there is nothing to approve, edit or reject (§0.8). */
export function offered(thread: Thread): readonly Verb[] {
  const verbs = OFFERED[thread.state].filter((verb) => verb !== "cleanup" || thread.can_clean_up === true);
  if (thread.state !== "awaiting_confirmation" || proposalOf(thread)) return verbs;
  return verbs.filter((verb) => verb !== "accept" && verb !== "edit" && verb !== "reject");
}

/** The citation of what the person looked at; a decision on anything else is refused. */
function citation(thread: Thread): Record<string, unknown> {
  const action = thread.state === "awaiting_confirmation" ? proposalOf(thread) : undefined;
  return action ? { proposal_id: action.proposal_id, proposal_digest: action.proposal_digest } : {};
}

/** accept and the verbs whose only content is the citation. */
export function plain(thread: Thread, verb: "accept" | "reject" | "dismiss", key: string): Intention {
  return { verb, body: citation(thread), key };
}

/** Verbs that say everything by their name; the etag ties them to what was on screen. */
export function bare(
  thread: Thread,
  verb: "accept_review" | "cleanup" | "retry_cleanup" | "accept_cleanup_failure",
  key: string,
): Intention {
  return { verb, body: { etag: thread.etag }, key };
}

/** Ends an umbrella and what is open below it, exactly as previewed (`etag`), or conflicts. */
export function closing(cancelExecuting: boolean, etag: string | undefined, key: string): Intention {
  const cited = etag ? { etag } : {};
  return cancelExecuting
    ? { verb: "force_close", body: { cancel_executing: true, ...cited }, key }
    : { verb: "dismiss", body: cited, key };
}

/** Another action in place of what is proposed; null takes the proposal away. */
export function picked(name: string | null, parameters: JsonObject | undefined, key: string): Intention {
  const given = parameters === undefined ? {} : { parameters };
  return { verb: "set_action_proposal", body: { capability_name: name, ...given }, key };
}

export function handOff(to: string, note: string, key: string): Intention {
  return { verb: "hand_off", body: { to: to.trim(), note: note.trim() }, key };
}

export function rename(title: string, key: string): Intention {
  return { verb: "rename", body: { title: title.trim() }, key };
}

export function withFeedback(
  thread: Thread,
  verb: "redirect" | "redirect_action",
  feedback: string,
  key: string,
): Intention {
  return { verb, body: { ...citation(thread), feedback: feedback.trim() }, key };
}

export function withText(thread: Thread, verb: "edit" | "provide", text: string, key: string): Intention {
  return { verb, body: { ...citation(thread), text: text.trim() }, key };
}

/** Only what changed travels: the service merges it into the parameters of the cited proposal. */
export function withOverrides(thread: Thread, action: Action, changed: JsonObject, key: string): Intention {
  return { verb: "edit", body: { ...citation(thread), action_overrides: { [action.id]: changed } }, key };
}

export function snooze(hours: number, key: string): Intention {
  return { verb: "later", body: { hours }, key };
}

/** The whole action anew, for edits that take parameters away. */
export function withAction(thread: Thread, action: Action, parameters: JsonObject, key: string): Intention {
  const replacement = { capability_name: action.name, parameters };
  return { verb: "edit", body: { ...citation(thread), action: replacement }, key };
}
