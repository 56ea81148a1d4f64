import { describe, expect, it } from "vitest";
import { ago, instant, until } from "./time";

const NOW = Date.parse("2026-03-10T12:00:00Z");
const before = (seconds: number): string => ago(NOW - seconds * 1000, NOW);

describe("ago", () => {
  it.each([
    [0, "now"],
    [44, "now"],
    [50, "1 min"],
    [61 * 4, "4 min"],
    [3_540, "59 min"],
    [3_599, "1 h"],
    [3 * 3_600, "3 h"],
    [86_399, "1 d"],
    [13 * 86_400, "13 d"],
    [20 * 86_400, "18 Feb"],
    [400 * 86_400, "3 Feb 2025"],
  ])("%i s is %s", (seconds, text) => {
    expect(before(seconds)).toBe(text);
  });

  it("calls a clock that is ahead of ours now", () => {
    expect(before(-30)).toBe("now");
  });
});

describe("until", () => {
  it.each([
    [3_600 * 6, "in 6 h"],
    [-5, "now"],
    [86_400 * 30, "on 9 Apr"],
  ])("%i s ahead is %s", (seconds, text) => {
    expect(until(NOW + seconds * 1000, NOW)).toBe(text);
  });
});

describe("instant", () => {
  it("reads RFC 3339 with nanoseconds, and nothing else", () => {
    expect(instant("2026-03-10T12:00:00.123456789Z")).toBe(NOW + 123);
    expect(instant("")).toBeUndefined();
    expect(instant(undefined)).toBeUndefined();
    expect(instant("soon")).toBeUndefined();
  });
});
