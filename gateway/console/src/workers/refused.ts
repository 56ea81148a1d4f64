// A refused command on workers, in a sentence. Pure.
import { told, type Sentences } from "../text/told";
import { statusOf } from "./words";

const SENTENCES: Sentences = {
  NAME_TAKEN: () => "This session has a worker of that name already. Choose another name.",
  INVALID_NAME: () =>
    "A name has small letters, digits, - and _, at most 64, and begins with a letter or a digit.",
  BRIEF_REQUIRED: () => "Say what the worker is to do.",
  WORKER_ALREADY_REGISTERED: () => "That session is a worker already.",
  WORKER_ENDED: ({ status = "" }) =>
    `It had ended already${status === "" ? "" : ` (${statusOf(status).label.toLowerCase()})`}, and an end stays.`,
  WORKER_MANAGED: () => "Treadle runs this worker itself: its status comes from its run, not from people.",
  WORKER_NOT_FOUND: () => "There is no such worker any more.",
  COORDINATOR_NOT_FOUND: () => "This session has no workers and no thread mode.",
  SESSION_NOT_FOUND: () => "This session is gone.",
  THREAD_MODE_DISABLED: () => "Thread mode is off for this session. Turn it on first.",
  DEPTH_EXCEEDED: () => "This session is a worker itself, and a worker has no workers.",
  TOO_MANY_THREADS: ({ limit = "" }) =>
    `No more workers${limit === "" ? "" : `: ${limit} is the most`}. Wait until some have ended.`,
  BUDGET_EXHAUSTED: () => "What the workers of this session may cost is used up.",
  VALUE_TOO_LARGE: ({ field = "It", limit = "" }) =>
    `${field} is too long${limit === "" ? "" : `: at most ${limit} characters`}. Nothing was cut, and nothing was kept.`,
  ROLE_REQUIRED: ({ role = "" }) =>
    `You may look at this, but not change it${role === "" ? "" : `: that needs the role ${role}`}.`,
  NOT_YOURS: () => "This belongs to another session.",
  STREAMING_UNAVAILABLE: () => "The sessions cannot be asked just now. Try again in a moment.",
};

export function refused(error: Error): string {
  return told(error, SENTENCES);
}
