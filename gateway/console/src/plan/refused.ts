// A refused command on plans and branches, in a sentence. Pure.
import { Problem } from "../api/http";
import { visible } from "../text/visible";
import { told, type Sentences } from "../text/told";
import type { Diff } from "./types";

const SENTENCES: Sentences = {
  PLAN_CHANGED: () =>
    "The plan has changed meanwhile, and nothing was done. Look at it again, then repeat it.",
  ETAG_MISMATCH: () => "It has changed meanwhile, and nothing was done.",
  TURN_IN_PROGRESS: () =>
    "The agent is at work and knows the steps by their numbers. Do it when its turn has ended.",
  BRANCH_FORKING: () => "This branch is still being made. In a moment it can be changed.",
  SESSION_DELETED: () => "This session was deleted.",
  TOO_MANY_STEPS: ({ limit = "200" }) => `A plan has at most ${limit} steps.`,
  TOO_DEEP: ({ limit = "32" }) => `Steps lie at most ${limit} deep.`,
  TURN_NOT_FOUND: () => "There is no such turn any more.",
  RESTORE_UNAVAILABLE: () => "What was there at that turn was not kept, so one cannot go on from it.",
  DOCUMENT_NOT_FOUND: () => "There is no such document any more.",
  DOCUMENT_LOCKED: () => "The document is locked.",
  TOO_MANY_DOCUMENTS: ({ limit = "50" }) => `A session has at most ${limit} documents.`,
  DOCUMENTS_TOO_LARGE: () => "The documents of a session may have 2 MiB in all. Nothing was kept.",
  VALUE_TOO_LARGE: ({ field = "It", limit = "" }) =>
    `${field} is too long${limit === "" ? "" : `: at most ${limit}`}. Nothing was cut, and nothing was kept.`,
  CHERRY_PICK_REFUSED: ({ cause = "" }) =>
    `One of the steps cannot be taken over alone${cause === "" ? "" : ` (${cause.replaceAll("_", " ")})`}. Nothing was taken over.`,
  TOO_MANY_BRANCHES: ({ limit = "200" }) => `A conversation has at most ${limit} branches.`,
  ROLE_REQUIRED: () => "You may look at this, but not change it.",
  STREAMING_UNAVAILABLE: () => "The sessions cannot be asked just now. Try again in a moment.",
};

/** Of a step that cannot be taken over alone it is said which. */
export function refusedPick(error: Error, { changes }: Pick<Diff, "changes">): string {
  const id = error instanceof Problem ? error.metadata["origin_id"] : undefined;
  const step = changes.find(({ origin_id }) => origin_id === id);
  const words = (step?.after ?? step?.before)?.text;
  if (!(error instanceof Problem) || words === undefined) return refused(error);
  return `“${visible(words)}”: ${(error.metadata["cause"] ?? error.message).replaceAll("_", " ")}. Nothing was taken over; tick what it needs, too.`;
}

export function refused(error: Error): string {
  return told(error, SENTENCES);
}
