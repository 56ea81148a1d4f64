import { expect, it } from "vitest";
import { desk, type Desk } from "./desk";

const HAND: Desk = {
  selection: ["a", "b"],
  active: "a",
  panel: true,
  resuming: { a: "token-a", b: "token-b" },
  streamKey: { a: 2 },
};
const result = (id: string, ok: boolean) => ({ id, ok, code: ok ? "deleted" : "unavailable" });

it("a failed delete of the active session changes nothing of it", () => {
  const after = desk(HAND, { type: "deleted", results: [result("a", false), result("b", true)] });
  expect(after).toEqual({
    selection: ["a"],
    active: "a",
    panel: true,
    resuming: { a: "token-a" },
    streamKey: { a: 2 },
  });
  expect(desk(HAND, { type: "deleted", results: [result("a", false)] })).toBe(HAND);
});

it("a delete of the active session lets go of it alone", () => {
  const after = desk(HAND, { type: "deleted", results: [result("a", true), result("b", false)] });
  expect(after).toEqual({
    selection: ["b"],
    active: undefined,
    panel: false,
    resuming: { b: "token-b" },
    streamKey: {},
  });
});

it("a resume of A is valid although B was deleted meanwhile", () => {
  const deleted = desk(HAND, { type: "deleted", results: [result("b", true)] });
  const after = desk(deleted, { type: "resumed", id: "a", token: "token-a", ok: true });
  expect(after.streamKey).toEqual({ a: 3 });
  expect(after.resuming).toEqual({});
});

it("a resume of what was deleted, or of an older gesture, does nothing", () => {
  const deleted = desk(HAND, { type: "deleted", results: [result("a", true)] });
  expect(desk(deleted, { type: "resumed", id: "a", token: "token-a", ok: true })).toBe(deleted);
  expect(desk(HAND, { type: "resumed", id: "a", token: "older", ok: true })).toBe(HAND);
});

it("a failed resume, and one of a session that is not open, leave the stream alone", () => {
  expect(desk(HAND, { type: "resumed", id: "a", token: "token-a", ok: false }).streamKey).toEqual({ a: 2 });
  expect(desk(HAND, { type: "resumed", id: "b", token: "token-b", ok: true }).streamKey).toEqual({ a: 2 });
});

it("selects and leaves out", () => {
  const one = desk(HAND, { type: "toggled", id: "a" });
  expect(one.selection).toEqual(["b"]);
  expect(desk(one, { type: "toggled", id: "a" }).selection).toEqual(["b", "a"]);
});

it("shows the activity again for the next session, where there is room", () => {
  const left = desk(HAND, { type: "deleted", results: [result("a", true)] });
  expect(desk(left, { type: "opened", id: "b", roomy: true })).toMatchObject({ active: "b", panel: true });
  const closed = desk(HAND, { type: "panel", shown: false });
  expect(desk(closed, { type: "opened", id: "b", roomy: true })).toMatchObject({ active: "b", panel: false });
});
