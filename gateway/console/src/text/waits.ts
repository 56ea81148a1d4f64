// What a thread asks or waits for, in one line; an umbrella says how much of it is still open. Pure.
import type { Thread } from "../api/types";
import { wordsOf } from "./states";

export function waitsOf(thread: Thread): string {
  const open = thread.open_children ?? 0;
  const total = thread.sub_thread_count ?? 0;
  if (thread.state !== "monitoring" || open === 0 || total === 0) return wordsOf(thread.state).ask;
  const noun = thread.parent_relationship === "group" ? "group" : "sub-thread";
  if (total === 1) return `Waiting for its ${noun}`;
  return open === total ? `Waiting for its ${total} ${noun}s` : `Waiting for ${open} of ${total} ${noun}s`;
}
