import { describe, expect, it } from "vitest";
import { meaning, resolve, type Stroke } from "./keys";

const stroke = (over: Partial<Stroke> = {}): Stroke => ({
  key: "a",
  ctrlKey: false,
  metaKey: false,
  altKey: false,
  repeat: false,
  isComposing: false,
  defaultPrevented: false,
  target: { tag: "BODY", editable: false, pressable: false },
  ...over,
});

describe("meaning", () => {
  it("is the key itself on the page", () => {
    expect(meaning(stroke())).toBe("a");
    expect(meaning(stroke({ key: "?" }))).toBe("?");
  });

  it("is nothing while somebody types", () => {
    expect(
      meaning(stroke({ target: { tag: "TEXTAREA", editable: true, pressable: false } })),
    ).toBeUndefined();
    expect(meaning(stroke({ isComposing: true }))).toBeUndefined();
    expect(
      meaning(stroke({ key: "d", target: { tag: "SELECT", editable: false, pressable: true } })),
    ).toBeUndefined();
  });

  it("leaves the browser's own shortcuts alone", () => {
    expect(meaning(stroke({ ctrlKey: true }))).toBeUndefined();
    expect(meaning(stroke({ metaKey: true, key: "r" }))).toBeUndefined();
    expect(meaning(stroke({ altKey: true, key: "d" }))).toBeUndefined();
    expect(meaning(stroke({ defaultPrevented: true }))).toBeUndefined();
  });

  it("leaves Enter to the button that has the focus", () => {
    const button = { tag: "BUTTON", editable: false, pressable: true };
    expect(meaning(stroke({ key: "Enter", target: button }))).toBeUndefined();
    expect(meaning(stroke({ key: "a", target: button }))).toBe("a");
  });

  it("counts a held key once, except for moving", () => {
    expect(meaning(stroke({ key: "a", repeat: true }))).toBeUndefined();
    expect(meaning(stroke({ key: "j", repeat: true }))).toBe("j");
  });
});

describe("resolve", () => {
  it("asks the newest layer first and falls through what it does not bind", () => {
    const calls: string[] = [];
    const below = { j: () => calls.push("below j"), Escape: () => calls.push("below esc") };
    const above = { Escape: () => calls.push("above esc"), a: undefined };
    resolve([below, above], "Escape")?.();
    resolve([below, above], "j")?.();
    expect(resolve([below, above], "a")).toBeUndefined();
    expect(calls).toEqual(["above esc", "below j"]);
  });
});
