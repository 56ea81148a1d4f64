import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { SESSION_EVENTS } from "../gen/events";
import type { Source } from "../live/feed";
import type { StreamEvent } from "./events";
import { openStream } from "./stream";

class FakeSource implements Source {
  readyState = 1;
  onopen: ((event: Event) => unknown) | null = null;
  onerror: ((event: Event) => unknown) | null = null;
  closed = false;
  readonly listeners = new Map<string, (event: MessageEvent<string>) => void>();
  constructor(readonly url: string) {}
  addEventListener(name: string, listener: (event: MessageEvent<string>) => void): void {
    this.listeners.set(name, listener);
  }
  close(): void {
    this.closed = true;
  }
  sends(name: string, data: string, lastEventId: string): void {
    this.listeners.get(name)?.({ data, lastEventId } as MessageEvent<string>);
  }
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function opened() {
  const sources: FakeSource[] = [];
  const events: StreamEvent[] = [];
  let refused = 0;
  const close = openStream(
    "/api/sessions/s/stream",
    {
      onStatus: () => undefined,
      onEvents: (more) => events.push(...more),
      onRefused: () => (refused += 1),
    },
    (url) => {
      const source = new FakeSource(url);
      sources.push(source);
      return source;
    },
  );
  return { sources, events, close, refused: () => refused };
}

it("listens to every named event of the list, and gathers what comes at once", () => {
  const { sources, events, close } = opened();
  const [source] = sources;
  expect([...(source?.listeners.keys() ?? [])]).toEqual([...SESSION_EVENTS]);
  source?.sends("activity_delta", '{"delta":"a","block":1}', "1-1");
  source?.sends("text_delta", "not json", "1-2");
  source?.sends("reset", '{"reason":"gap"}', "1-2");
  expect(events).toEqual([]);
  vi.runAllTimers();
  expect(events).toMatchObject([
    { name: "activity_delta", place: { generation: 1, n: 1 } },
    { name: "reset", place: undefined },
  ]);
  close();
});

it("closes on clean-up, and neither delivers nor reconnects afterwards", () => {
  const { sources, events, close, refused } = opened();
  sources[0]?.sends("status", "{}", "1-1");
  close();
  expect(sources[0]?.closed).toBe(true);
  sources[0]?.sends("status", "{}", "1-2");
  if (sources[0]) sources[0].readyState = 2;
  sources[0]?.onerror?.({} as Event);
  vi.runAllTimers();
  expect([events.length, sources.length, refused()]).toEqual([0, 1, 0]);
});

it("leaves a network drop to the browser, and opens the same address again after a refusal", () => {
  const { sources, close, refused } = opened();
  if (sources[0]) sources[0].readyState = 0;
  sources[0]?.onerror?.({} as Event);
  vi.runAllTimers();
  expect(sources).toHaveLength(1);
  if (sources[0]) sources[0].readyState = 2;
  sources[0]?.onerror?.({} as Event);
  expect(refused()).toBe(1);
  vi.runAllTimers();
  expect(sources.map(({ url }) => url)).toEqual(["/api/sessions/s/stream", "/api/sessions/s/stream"]);
  close();
});
