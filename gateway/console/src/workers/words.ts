// Workers' statuses, reasons and marks in a person's words. Pure.
import { plainName, type Tone } from "../text/states";
import type { Worker, WorkerStatus } from "./types";

const STATUSES: Record<WorkerStatus, { label: string; tone: Tone }> = {
  spawning: { label: "Queued", tone: "quiet" },
  running: { label: "Running", tone: "busy" },
  succeeded: { label: "Succeeded", tone: "done" },
  failed: { label: "Failed", tone: "warn" },
  cancelled: { label: "Cancelled", tone: "quiet" },
  interrupted: { label: "Interrupted", tone: "warn" },
  unknown: { label: "Unknown", tone: "quiet" },
};

/** Words of a status; one that this build does not know is shown by its own name. */
export function statusOf(status: string): { label: string; tone: Tone } {
  return (
    (STATUSES as Partial<Record<string, { label: string; tone: Tone }>>)[status] ?? {
      label: plainName(status),
      tone: "quiet",
    }
  );
}

const REASONS: Partial<Record<string, string>> = {
  completed: "Did what it was asked to.",
  failed: "Its agent failed.",
  timeout: "Its time was up before it was done.",
  budget_exhausted: "What the workers may cost was used up.",
  launch_failed: "Its agent could not be started.",
  result_too_large: "Its result is larger than can be kept (3 MiB).",
  cancelled: "It was asked to stop.",
  interrupted: "It was cut off.",
  runner_lost: "The machine that ran it was lost.",
};

/** Why a worker ended; empty while it has not. */
export function reasonOf(reason: string): string {
  return REASONS[reason] ?? (reason === "" ? "" : `${plainName(reason)}.`);
}

const ENDED: readonly string[] = ["succeeded", "failed", "cancelled", "interrupted"];

export function ended({ status }: Pick<Worker, "status">): boolean {
  return ENDED.includes(status);
}

/** What stands beside the status. */
export function marksOf(worker: Worker): { text: string; tone: Tone; why: string }[] {
  const over = ended(worker);
  const marks: { text: string; tone: Tone; why: string }[] = [];
  if (worker.waiting && !over)
    marks.push({ text: "Waits for you", tone: "wait", why: "Its agent asks something: open its session." });
  if (worker.cancel_requested && !over)
    marks.push({ text: "Stopping", tone: "quiet", why: "It was asked to stop." });
  if (worker.has_result && !over)
    marks.push({ text: "Interim result", tone: "busy", why: "A report from before its end." });
  if (worker.partial && over)
    marks.push({ text: "Partial", tone: "warn", why: "Its text is only what came before it ended." });
  if (over && !worker.has_result)
    marks.push({ text: "No text", tone: "quiet", why: "It ended without any text." });
  if (worker.late)
    marks.push({ text: "Late", tone: "wait", why: "It ended after the turn that started it." });
  if (worker.kind === "session")
    marks.push({ text: "By hand", tone: "quiet", why: "Registered: its status is what people say." });
  return marks;
}

/** "3 workers: 1 running, 2 succeeded"; the order of the statuses is fixed. */
export function summary(workers: readonly Worker[]): string {
  const counts = (Object.keys(STATUSES) as WorkerStatus[]).flatMap((status) => {
    const count = workers.filter((worker) => worker.status === status).length;
    return count === 0 ? [] : [`${count} ${STATUSES[status].label.toLowerCase()}`];
  });
  const noun = workers.length === 1 ? "worker" : "workers";
  return counts.length === 0 ? "" : `${workers.length} ${noun}: ${counts.join(", ")}`;
}

/** How many of them ask something. */
export function waitingOf(workers: readonly Worker[]): Worker[] {
  return workers.filter((worker) => worker.waiting && !ended(worker));
}

/** The session where its work can be watched, once there is one. */
export function sessionOf({ ids }: Pick<Worker, "ids">): string | undefined {
  const id = ids?.subagent_session_id ?? ids?.worker_session_id ?? "";
  return id === "" ? undefined : id;
}

/** The line in the activity when a worker's end is told. */
export function workerEnd(end: {
  reason: string;
  hasResult: boolean;
  partial: boolean;
  late: boolean;
}): string {
  return [
    end.reason === "completed" ? "" : reasonOf(end.reason),
    end.hasResult ? (end.partial ? "Its text is partial." : "") : "It left no text.",
    end.late ? "It came after the turn that started it." : "",
  ]
    .filter((part) => part !== "")
    .join(" ");
}

/** Who wrote a note: `kind:subject`. An agent's subject is its session, whose id says nothing to a reader. */
export function writerOf(by: string, coordinator: string): string {
  const [kind, ...rest] = by.split(":");
  const subject = rest.join(":");
  if (kind === "agent") return subject === coordinator ? "the coordinator" : "the worker";
  return subject === "" ? by : subject;
}

const NAME = /^[a-z0-9][a-z0-9_-]{0,63}$/;

/** What is wrong with a name; undefined: nothing. */
export function nameFault(name: string, taken: readonly string[]): string | undefined {
  if (!NAME.test(name))
    return "Small letters, digits, - and _; it begins with a letter or a digit, and has at most 64.";
  return taken.includes(name) ? "A worker of this session has that name already." : undefined;
}

export const BRIEF_LIMIT = 4_000;
export const NOTE_LIMIT = 2_000;

/** Unicode code points, as the service counts them. */
export function lengthOf(text: string): number {
  return Array.from(text).length;
}
