// One EventSource on the tenant's feed, from the place `after` on. The browser reconnects by itself after a network drop; after a refusal (it then
// gives up for good) we open a new one with the last cursor. Closing frees everything.
import { FEED_EVENTS, type FeedEventName } from "../gen/events";

export type FeedStatus = "connecting" | "live" | "lost";

export interface FeedHandlers {
  onStatus: (status: FeedStatus) => void;
  /** `cursor`: the place after this event; what it was before for an event that carries no id. */
  onEvent: (name: FeedEventName, data: string, cursor: string) => void;
  /** Every (re)connection without a cursor: what happened before it is unknown. */
  onFresh: () => void;
  /** The address was refused; another try follows. */
  onRefused: () => void;
}

export interface Feed {
  close: () => void;
  /** Something else was not answered: an open connection proves nothing then, and another one is tried. */
  doubt: () => void;
}

/** The part of EventSource that is used; tests give their own. */
export interface Source {
  readonly readyState: number;
  onopen: ((event: Event) => unknown) | null;
  onerror: ((event: Event) => unknown) | null;
  addEventListener(name: string, listener: (event: MessageEvent<string>) => void): void;
  close(): void;
}

const OPEN = 1;
const CLOSED = 2;
const FIRST_PAUSE = 1_000;
const LONGEST_PAUSE = 15_000;

export function openFeed(
  url: string,
  after: string,
  handlers: FeedHandlers,
  open: (url: string) => Source = (address) => new EventSource(address),
): Feed {
  let source: Source | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let cursor = after;
  let pause = FIRST_PAUSE;
  let stopped = false;

  const connect = (): void => {
    timer = undefined;
    const fresh = cursor === "";
    const current = open(fresh ? url : `${url}?last_event_id=${encodeURIComponent(cursor)}`);
    source = current;
    current.onopen = () => {
      pause = FIRST_PAUSE;
      handlers.onStatus("live");
      if (fresh && cursor === "") handlers.onFresh();
    };
    current.onerror = () => {
      if (stopped) return;
      handlers.onStatus("lost");
      if (current.readyState !== CLOSED || timer !== undefined) return;
      current.close();
      handlers.onRefused();
      timer = setTimeout(connect, pause);
      pause = Math.min(pause * 2, LONGEST_PAUSE);
    };
    for (const name of FEED_EVENTS) {
      current.addEventListener(name, (event) => {
        if (stopped) return;
        // `reset` carries no id: the browser keeps the old one, and so do we until the next event.
        if (event.lastEventId !== "") cursor = event.lastEventId;
        handlers.onEvent(name, event.data, cursor);
      });
    }
  };

  handlers.onStatus("connecting");
  connect();
  return {
    close: () => {
      stopped = true;
      clearTimeout(timer);
      source?.close();
    },
    doubt: () => {
      if (stopped || source?.readyState !== OPEN) return;
      source.close();
      handlers.onStatus("lost");
      connect();
    },
  };
}
