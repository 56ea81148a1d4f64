import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { openFeed, type FeedStatus, type Source } from "./feed";

class FakeSource implements Source {
  readyState = 0;
  onopen: ((event: Event) => unknown) | null = null;
  onerror: ((event: Event) => unknown) | null = null;
  closed = false;
  private listeners = new Map<string, (event: MessageEvent<string>) => void>();

  constructor(readonly url: string) {}

  addEventListener(name: string, listener: (event: MessageEvent<string>) => void): void {
    this.listeners.set(name, listener);
  }

  close(): void {
    this.closed = true;
    this.readyState = 2;
  }

  opens(): void {
    this.readyState = 1;
    this.onopen?.({} as Event);
  }

  sends(name: string, data: string, lastEventId: string): void {
    this.listeners.get(name)?.({ data, lastEventId } as MessageEvent<string>);
  }

  drops(readyState: 0 | 2): void {
    this.readyState = readyState;
    this.onerror?.({} as Event);
  }
}

function harness(after = "") {
  const sources: FakeSource[] = [];
  const statuses: FeedStatus[] = [];
  const events: string[] = [];
  let fresh = 0;
  let refused = 0;
  const feed = openFeed(
    "/api/stream",
    after,
    {
      onStatus: (status) => statuses.push(status),
      onEvent: (name, data) => events.push(`${name} ${data}`),
      onFresh: () => {
        fresh += 1;
      },
      onRefused: () => {
        refused += 1;
      },
    },
    (url) => {
      const source = new FakeSource(url);
      sources.push(source);
      return source;
    },
  );
  return {
    sources,
    statuses,
    events,
    ...feed,
    last: () => sources.at(-1) as FakeSource,
    fresh: () => fresh,
    refused: () => refused,
  };
}

describe("openFeed", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("hears every name of the feed and says when it is live", () => {
    const feed = harness();
    feed.last().opens();
    feed.last().sends("thread", "{}", "1-5");
    feed.last().sends("reset", "{}", "1-5");
    expect(feed.events).toEqual(["thread {}", "reset {}"]);
    expect(feed.statuses).toEqual(["connecting", "live"]);
    expect(feed.fresh()).toBe(1);
  });

  it("goes on from the place of an earlier page, and needs no reading anew then", () => {
    const feed = harness("1-4");
    expect(feed.last().url).toBe("/api/stream?last_event_id=1-4");
    feed.last().opens();
    expect(feed.fresh()).toBe(0);
  });

  it("leaves a network drop to the browser, which keeps the cursor", () => {
    const feed = harness();
    feed.last().opens();
    feed.last().sends("thread", "{}", "1-5");
    feed.last().drops(0);
    vi.advanceTimersByTime(60_000);
    expect(feed.sources).toHaveLength(1);
    feed.last().opens();
    expect(feed.statuses.at(-1)).toBe("live");
    expect(feed.fresh()).toBe(1);
  });

  it("opens a new source with its cursor when the browser has given up, with growing pauses", () => {
    const feed = harness();
    feed.last().opens();
    feed.last().sends("thread", "{}", "1-5");
    feed.last().drops(2);
    vi.advanceTimersByTime(1_000);
    expect(feed.sources).toHaveLength(2);
    expect(feed.last().url).toBe("/api/stream?last_event_id=1-5");
    feed.last().drops(2);
    vi.advanceTimersByTime(1_999);
    expect(feed.sources).toHaveLength(2);
    vi.advanceTimersByTime(1);
    expect(feed.sources).toHaveLength(3);
    expect(feed.sources.slice(0, 2).every((source) => source.closed)).toBe(true);
  });

  it("reads everything anew when it reconnects without a cursor", () => {
    const feed = harness();
    feed.last().drops(2);
    vi.advanceTimersByTime(1_000);
    feed.last().opens();
    expect(feed.fresh()).toBe(1);
  });

  it("closes for good: no source, no timer, no late event", () => {
    const feed = harness();
    feed.last().opens();
    feed.last().drops(2);
    feed.close();
    vi.advanceTimersByTime(60_000);
    feed.last().sends("thread", "{}", "1-6");
    expect(feed.sources).toHaveLength(1);
    expect(feed.last().closed).toBe(true);
    expect(feed.events).toEqual([]);
  });

  it("is looked at again when something else got no answer, from where it was", () => {
    const feed = harness("1-4");
    feed.doubt();
    expect(feed.sources).toHaveLength(1);
    feed.last().opens();
    feed.last().sends("thread", "{}", "1-5");
    feed.doubt();
    feed.doubt();
    expect(feed.sources).toHaveLength(2);
    expect(feed.sources[0]?.closed).toBe(true);
    expect(feed.last().url).toContain("last_event_id=1-5");
    expect(feed.statuses.at(-1)).toBe("lost");
    feed.last().opens();
    expect(feed.statuses.at(-1)).toBe("live");
  });
});
