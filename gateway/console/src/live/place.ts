// Where the feed was last read, kept over page loads: without a cursor the feed tells everything that it stores.
// A stale place costs a longer replay, never an event; a foreign one is answered by `reset`.

const NAME = "treadle.feed";

export function lastPlace(): string {
  try {
    return localStorage.getItem(NAME) ?? "";
  } catch {
    return "";
  }
}

export function keepPlace(cursor: string): void {
  try {
    localStorage.setItem(NAME, cursor);
  } catch {
    // No storage (private mode, quota): the next load reads from the start.
  }
}
