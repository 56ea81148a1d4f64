// One EventSource on a session's stream, for every event that there is. The browser reconnects by itself after a
// network drop; after a refusal it gives up for good, and the owner is told. Closing frees everything.
import { SESSION_EVENTS } from "../gen/events";
import type { Source } from "../live/feed";
import { readEvent, type StreamEvent } from "./events";
import { placeOf } from "./place";

export type StreamStatus = "connecting" | "live" | "lost";

export interface StreamHandlers {
  onStatus: (status: StreamStatus) => void;
  onEvents: (events: readonly StreamEvent[]) => void;
  /** The address was refused: the session may be gone. A new try follows after a pause, unless it is closed. */
  onRefused: () => void;
}

/** Deltas come many a frame; the page is drawn once for all of them. */
const GATHER_MS = 30;
const PAUSE_MS = 2_000;

export function openStream(
  url: string,
  handlers: StreamHandlers,
  open: (url: string) => Source = (address) => new EventSource(address),
): () => void {
  let source: Source | undefined;
  let retry: ReturnType<typeof setTimeout> | undefined;
  let gather: ReturnType<typeof setTimeout> | undefined;
  let gathered: StreamEvent[] = [];

  const flush = (): void => {
    gather = undefined;
    const events = gathered;
    gathered = [];
    handlers.onEvents(events);
  };
  const connect = (): void => {
    const current = open(url);
    source = current;
    current.onopen = () => {
      handlers.onStatus("live");
    };
    current.onerror = () => {
      if (source !== current) return;
      handlers.onStatus("lost");
      if (current.readyState !== 2) return;
      current.close();
      source = undefined;
      retry = setTimeout(connect, PAUSE_MS);
      handlers.onRefused();
    };
    for (const name of SESSION_EVENTS) {
      current.addEventListener(name, (message) => {
        if (source !== current) return;
        // `reset` carries no id, and the browser repeats the last one for it: it has no place.
        const place = name === "reset" ? undefined : placeOf(message.lastEventId);
        const event = readEvent(name, message.data, place);
        if (!event) return;
        gathered.push(event);
        gather ??= setTimeout(flush, GATHER_MS);
      });
    }
  };

  handlers.onStatus("connecting");
  connect();
  return () => {
    clearTimeout(retry);
    clearTimeout(gather);
    source?.close();
    source = undefined;
  };
}
