import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Batch } from "./batch";
import { touched, type Key } from "./touched";

describe("Batch", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("answers the first event soon and a burst in one round each 250 ms, every key once", () => {
    const rounds: (Key[] | "all")[] = [];
    const batch = new Batch((keys) => rounds.push(keys), Date.now);
    batch.add([["inbox"], ["thread", "a"]]);
    batch.add([["inbox"], ["thread", "b"]]);
    vi.advanceTimersByTime(25);
    expect(rounds).toEqual([[["inbox"], ["thread", "a"], ["thread", "b"]]]);
    for (let index = 0; index < 100; index += 1) {
      batch.add([["inbox"]]);
      vi.advanceTimersByTime(10);
    }
    expect(rounds.length).toBeGreaterThanOrEqual(4);
    expect(rounds.length).toBeLessThanOrEqual(6);
  });

  it("waits for the end of what is told anew, then is as quick as ever", () => {
    const rounds: (Key[] | "all")[] = [];
    const batch = new Batch((keys) => rounds.push(keys), Date.now);
    batch.catchUp();
    for (let index = 0; index < 1_000; index += 1) {
      batch.add([["inbox"]]);
      vi.advanceTimersByTime(10);
    }
    expect(rounds).toHaveLength(3);
    vi.advanceTimersByTime(200);
    expect(rounds).toHaveLength(4);
    vi.advanceTimersByTime(1_000);
    batch.add([["inbox"]]);
    vi.advanceTimersByTime(25);
    expect(rounds).toHaveLength(5);
  });

  it("forgets single keys when all is stale, and says nothing after closing", () => {
    const rounds: (Key[] | "all")[] = [];
    const batch = new Batch((keys) => rounds.push(keys), Date.now);
    batch.add([["inbox"]]);
    batch.add("all");
    vi.advanceTimersByTime(25);
    batch.add([["inbox"]]);
    batch.close();
    vi.advanceTimersByTime(1_000);
    expect(rounds).toEqual(["all"]);
  });
});

describe("touched", () => {
  it("is the thread, the umbrellas of its family and the lists", () => {
    expect(touched('{"thread_id":"thr_b","root_id":"thr_a","seq":"4"}')).toEqual([
      ["thread", "thr_b"],
      ["inbox"],
      ["threads"],
      ["family", "thr_a"],
    ]);
    expect(touched('{"thread_id":"thr_a","root_id":"thr_a"}')).toHaveLength(3);
  });

  it("is everything when the data cannot be read", () => {
    expect(touched("")).toBe("all");
    expect(touched("{")).toBe("all");
    expect(touched('{"id":1}')).toBe("all");
    expect(touched("null")).toBe("all");
  });
});
