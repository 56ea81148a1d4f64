import { describe, expect, it } from "vitest";
import type { Column } from "./placing";
import { aside, next, NONE, only, present, ranged, subject, toggled } from "./selection";

const column = (id: string, ...items: string[]): Column => ({
  thread: { name: "", id, etag: "", state: "monitoring", title: id, create_time: "" },
  items: items.map((item) => ({ id: item })),
});
const BOARD = [column("a", "1", "2", "3", "4"), column("b"), column("c", "5", "6")];

describe("choosing", () => {
  it("toggles with Ctrl or x", () => {
    const two = toggled(toggled(NONE, "a|1"), "c|5");
    expect(two.chosen).toEqual(["a|1", "c|5"]);
    expect(toggled(two, "a|1").chosen).toEqual(["c|5"]);
  });

  it("takes a range with Shift, in either direction, within one column", () => {
    expect(ranged(BOARD, only("a|2"), "a|4").chosen).toEqual(["a|2", "a|3", "a|4"]);
    expect(ranged(BOARD, only("a|3"), "a|1").chosen).toEqual(["a|3", "a|1", "a|2"]);
    expect(ranged(BOARD, only("a|2"), "c|6").chosen).toEqual(["a|2", "c|6"]);
  });

  it("drops what has left the board", () => {
    expect(present(BOARD, { chosen: ["a|1", "a|9"], anchor: "a|9" }).chosen).toEqual(["a|1"]);
  });

  it("is about the chosen ones, or about the one that is pressed beside them", () => {
    const two = toggled(only("a|1"), "a|2");
    expect(subject(two, "a|2")).toEqual(["a|1", "a|2"]);
    expect(subject(two, "c|5")).toEqual(["c|5"]);
    expect(subject(two, undefined)).toEqual(["a|1", "a|2"]);
  });
});

describe("the keyboard", () => {
  it("walks down the board and stops at its ends", () => {
    expect(next(BOARD, undefined, 1)).toBe("a|1");
    expect(next(BOARD, undefined, -1)).toBe("c|6");
    expect(next(BOARD, "a|4", 1)).toBe("c|5");
    expect(next(BOARD, "c|6", 1)).toBe("c|6");
    expect(next([], undefined, 1)).toBeUndefined();
  });

  it("steps aside over empty columns, at the same height where there is one", () => {
    expect(aside(BOARD, "a|2", 1)).toBe("c|6");
    expect(aside(BOARD, "a|4", 1)).toBe("c|6");
    expect(aside(BOARD, "c|5", -1)).toBe("a|1");
    expect(aside(BOARD, "c|5", 1)).toBe("c|5");
  });
});
