// From a `session` event of the feed to the reads that it made stale. Pure.
import { sessionKeys } from "../session/api";
import type { Key } from "../live/touched";

export function touchedSessions(data: string): Key[] {
  const id = idIn(data);
  return id === undefined ? [sessionKeys.list] : [sessionKeys.list, sessionKeys.one(id)];
}

function idIn(data: string): string | undefined {
  try {
    const value: unknown = JSON.parse(data);
    if (typeof value !== "object" || value === null || !("session_id" in value)) return undefined;
    return typeof value.session_id === "string" ? value.session_id : undefined;
  } catch {
    return undefined;
  }
}
