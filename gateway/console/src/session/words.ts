// A session's states and codes in a person's words. Pure.
import type { Tone } from "../text/states";
import { plainName } from "../text/states";
import type { TurnState } from "./events";

export const STATES: Record<TurnState, { label: string; tone: Tone }> = {
  idle: { label: "Idle", tone: "quiet" },
  running: { label: "Running", tone: "busy" },
  waiting: { label: "Waits for you", tone: "wait" },
  failed: { label: "Failed", tone: "warn" },
};

const FAILURES: Partial<Record<string, string>> = {
  provider_error: "The model's provider refused or broke off.",
  provider_timeout: "The model's provider did not answer in time.",
  child_exit: "The agent ended before it was done.",
  protocol_error: "The agent said something that could not be understood.",
  start_failed: "The agent could not be started.",
  runner_lost: "The machine that ran the agent was lost.",
};

export function failure(code: string): string {
  return FAILURES[code] ?? (code === "" ? "The turn failed." : `The turn failed: ${plainName(code)}.`);
}

export const OUTCOMES: Partial<Record<string, string>> = {
  aborted: "Stopped by a person.",
  truncated: "Cut off: the answer grew longer than the model may write.",
};

export const GATES: Partial<Record<string, string>> = {
  choice: "Choice",
  dialog: "Question of the agent",
  "join-review": "Join review",
  "phase-summary": "Phase summary",
};
