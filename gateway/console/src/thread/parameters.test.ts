import { describe, expect, it } from "vitest";
import { changesOf, draftsOf, parseObject } from "./parameters";

const PARAMETERS = { path: "notes.md", count: 2, loud: false, tags: ["a"], none: null };

describe("changesOf", () => {
  it("is empty for untouched drafts, whatever the type", () => {
    expect(changesOf(PARAMETERS, draftsOf(PARAMETERS))).toEqual({ changed: {}, errors: {} });
  });

  it("keeps the types and sends only what changed", () => {
    const drafts = { ...draftsOf(PARAMETERS), path: "2", count: "3.5", loud: "true", tags: '["a", "b"]' };
    expect(changesOf(PARAMETERS, drafts).changed).toEqual({
      path: "2",
      count: 3.5,
      loud: true,
      tags: ["a", "b"],
    });
  });

  it("names what cannot be read and does not send it", () => {
    const drafts = { ...draftsOf(PARAMETERS), count: "two", tags: "[" };
    const { changed, errors } = changesOf(PARAMETERS, drafts);
    expect(changed).toEqual({});
    expect(Object.keys(errors)).toEqual(["count", "tags"]);
  });
});

describe("parseObject", () => {
  it("takes objects only", () => {
    expect(parseObject('{"a":1}')).toEqual({ ok: true, value: { a: 1 } });
    for (const text of ["[]", "null", "3", "{"]) expect(parseObject(text).ok).toBe(false);
  });
});
