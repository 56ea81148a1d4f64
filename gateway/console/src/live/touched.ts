// From an event of the feed to the queries that it made stale. Pure.
import { keys } from "../api/queries";

export type Key = readonly string[];

/** The allow-listed fields of a `thread` event that the console uses (treadle.streaming.v1.ThreadChanged). */
export interface ThreadChanged {
  thread_id: string;
  root_id?: string;
}

/** Keys touched by a `thread` event's data; an unreadable one touches everything rather than nothing. */
export function touched(data: string): Key[] | "all" {
  const event = read(data);
  if (!event) return "all";
  const touchedKeys: Key[] = [keys.thread(event.thread_id), keys.inbox, keys.threads];
  if (event.root_id && event.root_id !== event.thread_id) touchedKeys.push(keys.family(event.root_id));
  return touchedKeys;
}

function read(data: string): ThreadChanged | undefined {
  try {
    const value: unknown = JSON.parse(data);
    if (
      typeof value === "object" &&
      value !== null &&
      "thread_id" in value &&
      typeof value.thread_id === "string"
    ) {
      const root = "root_id" in value && typeof value.root_id === "string" ? value.root_id : "";
      return { thread_id: value.thread_id, root_id: root };
    }
  } catch {
    // Falls through: not JSON is as unreadable as JSON of another shape.
  }
  return undefined;
}
