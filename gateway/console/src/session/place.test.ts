import { expect, it } from "vitest";
import { compare, placeOf } from "./place";

it.each([
  ["2-17", { generation: 2, n: 17 }],
  ["", undefined],
  ["17", undefined],
  ["x-1", undefined],
  ["1-2-3", undefined],
])("reads %j", (id, place) => {
  expect(placeOf(id)).toEqual(place);
});

it.each([
  [undefined, { generation: 1, n: 1 }, "fresh"],
  [{ generation: 1, n: 9 }, { generation: 1, n: 10 }, "next"],
  [{ generation: 1, n: 9 }, { generation: 1, n: 9 }, "old"],
  [{ generation: 1, n: 9 }, { generation: 2, n: 1 }, "fresh"],
  [{ generation: 2, n: 1 }, { generation: 1, n: 99 }, "old"],
] as const)("after %j, %j is %s", (seen, place, order) => {
  expect(compare(seen, place)).toBe(order);
});
