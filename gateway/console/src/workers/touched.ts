// From a `worker` event of the feed to the reads that it made stale. Pure.
import type { Key } from "../live/touched";
import { workerKeys } from "./keys";

/** An unreadable event touches everything rather than nothing. */
export function touchedWorkers(data: string): Key[] | "all" {
  const event = read(data);
  const coordinator = event?.["coordinator_session_id"];
  if (typeof coordinator !== "string" || coordinator === "") return "all";
  const session = event?.["worker_session_id"];
  const touched: Key[] = [workerKeys.roster(coordinator)];
  if (typeof session === "string" && session !== "") touched.push(workerKeys.assignment(session));
  return touched;
}

function read(data: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(data);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
