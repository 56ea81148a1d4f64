// What every call may meet, told to whoever minds: no answer at all, and a gateway that does not know who asks.

export type Signal = "unanswered" | "unknown";

const listeners = new Map<Signal, Set<() => void>>([
  ["unanswered", new Set()],
  ["unknown", new Set()],
]);

export function tell(signal: Signal): void {
  for (const listener of listeners.get(signal) ?? []) listener();
}

/** Answers how to stop listening. */
export function heard(signal: Signal, listener: () => void): () => void {
  listeners.get(signal)?.add(listener);
  return () => {
    listeners.get(signal)?.delete(listener);
  };
}
