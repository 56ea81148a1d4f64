import { describe, expect, it } from "vitest";
import { originOf, turnAfter } from "./origin";

const turn = (number: number, minute: number) => ({
  number,
  create_time: `2026-03-01T12:${String(minute).padStart(2, "0")}:00.123456Z`,
});
const branch = (fork_turn: number | undefined, minute: number) => ({
  create_time: `2026-03-01T12:${String(minute)}:00Z`,
  ...(fork_turn === undefined ? {} : { fork_turn }),
});

describe("the origin of a branch", () => {
  it("is its name without the collection", () => {
    expect(originOf({ forked_from: "sessions/ses_1" })).toBe("ses_1");
    expect(originOf({})).toBe("");
  });

  it("was so until its next turn began", () => {
    expect(turnAfter(branch(1, 30), [turn(1, 1), turn(2, 2), turn(3, 3)])).toBe(turn(2, 2).create_time);
    expect(turnAfter(branch(1, 30), [turn(1, 1), turn(4, 2)])).toBe(turn(4, 2).create_time);
    expect(turnAfter(branch(undefined, 30), [turn(1, 1)])).toBe(turn(1, 1).create_time);
  });

  it("was so until the branch was made, where that turn was the last then", () => {
    expect(turnAfter(branch(2, 30), [turn(1, 1), turn(2, 2)])).toBe(branch(2, 30).create_time);
    expect(turnAfter(branch(2, 30), [turn(1, 1), turn(2, 2), turn(3, 40)])).toBe(branch(2, 30).create_time);
    expect(turnAfter(branch(0, 30), [])).toBe(branch(0, 30).create_time);
  });
});
