// Several decisions at once: which of the chosen threads a decision fits, and what is sent for them. Pure.
import { offered, proposalOf, type Verb } from "../api/decisions";
import type { CitedProposal, Thread } from "../api/types";

export type BatchDecision = "approve" | "reject" | "dismiss";

/** Most items of one request (DecideInboxRequest). */
export const MOST = 200;

const VERBS: Record<BatchDecision, readonly Verb[]> = {
  approve: ["accept", "accept_review"],
  reject: ["reject"],
  dismiss: ["dismiss"],
};

export function fits(thread: Thread, decision: BatchDecision): boolean {
  const verbs = offered(thread);
  return VERBS[decision].some((verb) => verbs.includes(verb));
}

/** Cites what stands where a proposal is at stake, as a single decision would. */
export function itemOf(thread: Thread, decision: BatchDecision): CitedProposal {
  const action = thread.state === "awaiting_confirmation" ? proposalOf(thread) : undefined;
  return {
    thread_id: thread.id,
    decision,
    ...(action ? { proposal_id: action.proposal_id, proposal_digest: action.proposal_digest } : {}),
  };
}

export function chunks<T>(items: readonly T[], size: number = MOST): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  );
}
