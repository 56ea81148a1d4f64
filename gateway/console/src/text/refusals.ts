// A refused decision in words: who was first, what they decided, what stands now. Pure.
import type { Verb } from "../api/decisions";
import type { Problem } from "../api/http";
import type { ThreadState } from "../gen/events";
import { instant } from "./time";
import { plainName, wordsOf } from "./states";

export interface Refusal {
  title: string;
  detail: string;
  /** Who decided, when (ms since the epoch), what: only where the answer said so. */
  winner?: { who: string; what: string; at: number | undefined };
  state?: string;
  retryable: boolean;
}

const TRIED: Record<Verb, string> = {
  accept: "approval",
  edit: "edit",
  provide: "answer",
  redirect: "redirect",
  redirect_action: "redirect",
  reject: "rejection",
  dismiss: "dismissal",
  later: "snooze",
};

/** Past tense of a decision as the services name it: a trigger, or the verb of the call. */
const DECIDED: Partial<Record<string, string>> = {
  execute: "approved",
  accept: "approved",
  confirmed: "confirmed",
  edited: "edited",
  edit: "edited",
  provided: "answered",
  provide: "answered",
  redirected: "redirected",
  redirect: "redirected",
  redirect_action: "redirected",
  rejected: "rejected",
  reject: "rejected",
  dismissed_by_user: "dismissed",
  dismiss: "dismissed",
  review_accepted: "accepted",
  hand_off: "handed off",
  action_picked: "changed",
  timeout: "timed out",
};

export function refusal(problem: Problem, verb: Verb | undefined): Refusal {
  const tried = verb ? TRIED[verb] : "decision";
  const state = problem.state ? wordsOf(problem.state as ThreadState).label.toLowerCase() : undefined;
  const base = { retryable: problem.retryable, ...(state ? { state } : {}) };
  if (!problem.conflict) {
    const title = problem.retryable ? `Your ${tried} may not have arrived` : problem.title;
    const field = problem.metadata["field"];
    const detail = problem.detail || problem.title;
    return { ...base, title, detail: field && !detail.includes(field) ? `${field}: ${detail}` : detail };
  }
  const winner = winnerOf(problem);
  if (winner) {
    return {
      ...base,
      title: "Somebody was faster",
      detail: `Your ${tried} was not applied. Nothing ran twice.`,
      winner,
    };
  }
  if (problem.reason === "PROPOSAL_CHANGED") {
    return {
      ...base,
      title: "The proposal changed",
      detail: `Your ${tried} was not applied: it was for an earlier proposal. The one below is the one that stands.`,
    };
  }
  return {
    ...base,
    title: "The thread has moved on",
    detail: problem.detail || `Your ${tried} was not applied.`,
  };
}

function winnerOf({ metadata }: Problem): Refusal["winner"] {
  const who = metadata["decided_by"];
  if (!who) return undefined;
  const decision = metadata["decision"] ?? "";
  return {
    who: personOf(who),
    what: DECIDED[decision] ?? (decision ? plainName(decision).toLowerCase() : "decided"),
    at: instant(metadata["decided_time"]),
  };
}

/** Actors travel as `kind:subject`; people are called by their subject. */
function personOf(actor: string): string {
  const [kind, ...rest] = actor.split(":");
  const subject = rest.join(":");
  if (subject === "") return actor;
  return kind === "user" ? subject : `${subject} (${plainName(kind ?? "").toLowerCase()})`;
}
