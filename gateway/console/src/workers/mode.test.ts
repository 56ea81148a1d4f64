import { expect, it } from "vitest";
import { remember, remembered } from "./mode";

function storage(initial?: string) {
  const kept = new Map(initial === undefined ? [] : [["treadle.threadMode", initial]]);
  return {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => {
      kept.set(key, value);
    },
  };
}

it("remembers by session", () => {
  const place = storage();
  remember("a", true, place);
  remember("b", true, place);
  remember("a", false, place);
  expect([remembered("a", place), remembered("b", place)]).toEqual([false, true]);
});

it("forgets the oldest above 200", () => {
  const place = storage();
  for (let n = 0; n < 201; n += 1) remember(`s${String(n)}`, true, place);
  expect([remembered("s0", place), remembered("s1", place), remembered("s200", place)]).toEqual([
    false,
    true,
    true,
  ]);
});

it.each(["", "{", "{}", "[1,null]"])("reads damage %j as nothing", (damage) => {
  expect(remembered("a", storage(damage))).toBe(false);
});

it("does without a storage that refuses", () => {
  const place = {
    getItem: () => null,
    setItem: () => {
      throw new Error("full");
    },
  };
  expect(() => {
    remember("a", true, place);
  }).not.toThrow();
});
