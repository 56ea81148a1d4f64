// From a `plan` event of the feed to the reads that it made stale. Pure.
import type { Key } from "../live/touched";
import { sessionKeys } from "../session/api";
import { planKeys } from "./keys";

/** An unreadable event touches everything rather than nothing. */
export function touchedPlans(data: string): Key[] | "all" {
  const event = read(data);
  const session = textOf(event?.["session_id"]);
  if (session === "") return "all";
  const touched: Key[] = [planKeys.all(session), planKeys.graphs];
  const branch = textOf(event?.["branch_session_id"]);
  if (branch !== "") touched.push(sessionKeys.list, sessionKeys.one(branch), planKeys.all(branch));
  return touched;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function read(data: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(data);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
