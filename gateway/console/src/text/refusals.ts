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
  accept_review: "acceptance",
  edit: "edit",
  provide: "answer",
  redirect: "redirect",
  redirect_action: "redirect",
  set_action_proposal: "choice",
  reject: "rejection",
  dismiss: "dismissal",
  force_close: "closing",
  later: "snooze",
  hand_off: "hand-off",
  rename: "new title",
  cleanup: "clean-up",
  retry_cleanup: "clean-up",
  accept_cleanup_failure: "acceptance",
};

/** Past tense of a decision as the ledger names it (design/threads.md §0.3). */
const DECIDED: Partial<Record<string, string>> = {
  approve: "approved",
  confirm: "confirmed",
  edit: "edited",
  provide: "answered",
  redirect: "redirected",
  reject: "rejected",
  dismiss: "dismissed",
  pick: "picked another action for",
  accept_review: "accepted the result of",
  hand_off: "handed off",
  cleanup: "cleaned up",
};

/** Reasons that mean: the cited proposal is not the one that stands, and nobody decided on it. */
const CHANGED = new Set(["PROPOSAL_CHANGED", "PROPOSAL_SUPERSEDED", "DIGEST_MISMATCH"]);

export function refusal(problem: Problem, verb: Verb | undefined): Refusal {
  const tried = verb ? TRIED[verb] : "decision";
  const state = problem.state ? wordsOf(problem.state as ThreadState).label.toLowerCase() : undefined;
  const base = { retryable: problem.retryable, ...(state ? { state } : {}) };
  if (!problem.conflict) {
    const title =
      problem.status === 429
        ? "Too many requests at once"
        : unknown(problem)
          ? `Your ${tried} may not have arrived`
          : `Your ${tried} was refused`;
    const field = problem.metadata["field"];
    const detail = problem.detail || problem.title;
    return { ...base, title, detail: field && !detail.includes(field) ? `${field}: ${detail}` : detail };
  }
  const winner = CHANGED.has(problem.reason) ? undefined : winnerOf(problem);
  if (winner) {
    return {
      ...base,
      title: "Somebody was faster",
      detail: `Your ${tried} was not applied. Nothing ran twice.`,
      winner,
    };
  }
  if (CHANGED.has(problem.reason)) {
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

/** Whether it took effect is not known: no answer, or a fault behind the gateway. */
function unknown({ status }: Problem): boolean {
  return status === 0 || status >= 500;
}

function winnerOf({ metadata }: Problem): Refusal["winner"] {
  const by = metadata["decided_by"];
  if (!by) return undefined;
  const kind = metadata["decided_by_kind"];
  const decision = metadata["decision"] ?? "";
  return {
    who: kind === undefined || kind === "user" ? by : `${by} (${plainName(kind).toLowerCase()})`,
    what: DECIDED[decision] ?? `decided (${plainName(decision).toLowerCase()}) on`,
    at: instant(metadata["decided_at"] ?? metadata["decided_time"]),
  };
}
