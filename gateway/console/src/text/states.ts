// The 21 states in a person's words, with the tone that colours them.
import type { ThreadState } from "../gen/events";

export type Tone = "wait" | "warn" | "busy" | "done" | "quiet";

interface Words {
  label: string;
  tone: Tone;
  /** What the card asks of a person, or what is under way: the second line of a row. */
  ask: string;
}

const WORDS: Record<ThreadState, Words> = {
  proposed: { label: "Proposed", tone: "quiet", ask: "Written down, not started" },
  awaiting_inference: { label: "Queued", tone: "busy", ask: "Waiting for a runner" },
  inferring_intent: { label: "Reading", tone: "busy", ask: "Working out what is wanted" },
  inferring_context: { label: "Gathering", tone: "busy", ask: "Working out what is needed" },
  inferring_action: { label: "Choosing", tone: "busy", ask: "Choosing an action" },
  awaiting_intent_confirmation: { label: "To confirm", tone: "wait", ask: "Is this what you want?" },
  awaiting_context_confirmation: { label: "To confirm", tone: "wait", ask: "Is this what it needs?" },
  awaiting_confirmation: { label: "To approve", tone: "wait", ask: "An action waits for your approval" },
  awaiting_intent_clarification: { label: "To answer", tone: "wait", ask: "What do you want?" },
  awaiting_context_clarification: { label: "To answer", tone: "wait", ask: "What does it need?" },
  awaiting_action_clarification: { label: "To answer", tone: "wait", ask: "What should be done?" },
  awaiting_review: { label: "To review", tone: "wait", ask: "The result waits for your review" },
  awaiting_redirect: { label: "Failed", tone: "warn", ask: "The action failed. Say what to do instead" },
  done_cleanup_unsuccessful: {
    label: "Clean-up failed",
    tone: "warn",
    ask: "The source could not be cleaned up",
  },
  executing: { label: "Executing", tone: "busy", ask: "The approved action is running" },
  cleaning_up: { label: "Cleaning up", tone: "busy", ask: "Cleaning up the source" },
  monitoring: { label: "Monitoring", tone: "busy", ask: "Waiting for its sub-threads" },
  done: { label: "Done", tone: "done", ask: "Done" },
  dismissed: { label: "Dismissed", tone: "quiet", ask: "Closed without doing it" },
  handed_off: { label: "Handed off", tone: "quiet", ask: "Given to somebody outside" },
  done_cleanup_successful: { label: "Done", tone: "done", ask: "Done, source cleaned up" },
};

/** Words of a state; one that this build does not know (a newer server's) is shown by its own name. */
export function wordsOf(state: ThreadState): Words {
  return (
    (WORDS as Partial<Record<string, Words>>)[state] ?? {
      label: plainName(state),
      tone: "quiet",
      ask: plainName(state),
    }
  );
}

export function plainName(name: string): string {
  const spaced = name.replaceAll("_", " ");
  return spaced.charAt(0).toUpperCase() + spaced.slice(1);
}

export const WAITING: readonly ThreadState[] = byTone("wait", "warn");
export const MOVING: readonly ThreadState[] = byTone("busy");
export const ENDED: readonly ThreadState[] = ["done", "done_cleanup_successful", "dismissed", "handed_off"];

function byTone(...tones: Tone[]): ThreadState[] {
  return (Object.keys(WORDS) as ThreadState[]).filter((state) => tones.includes(WORDS[state].tone));
}
