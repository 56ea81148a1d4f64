import { expect, it } from "vitest";
import type { ActionOption } from "../api/types";
import { filled, missing, perGroup } from "./options";

const APPEND: ActionOption = {
  capability_name: "file_append",
  default_params: { bullet: "- " },
  parameters: [
    { name: "path", type: "string", required: true },
    { name: "bullet", type: "string", required: true },
    { name: "times", type: "integer" },
    { name: "tags", type: "array" },
  ],
};

it("offers what is about a whole group", () => {
  const options = [
    { capability_name: "a", cardinality: "per_item" },
    { capability_name: "b", cardinality: "per_group" },
    { capability_name: "c" },
    { capability_name: "d", cardinality: "umbrella" },
  ];
  expect(perGroup(options).map((option) => option.capability_name)).toEqual(["b", "c"]);
});

it("asks for what is required and has no default", () => {
  expect(missing(APPEND).map((parameter) => parameter.name)).toEqual(["path"]);
  expect(missing({ capability_name: "thread_dismiss" })).toEqual([]);
});

it("reads what was typed in the parameter's type, over the defaults", () => {
  expect(filled(APPEND, { path: "a.md", times: "2", tags: '["x"]' })).toEqual({
    ok: true,
    parameters: { bullet: "- ", path: "a.md", times: 2, tags: ["x"] },
  });
});

it("says what is missing or unreadable", () => {
  expect(filled(APPEND, { times: "two" })).toEqual({
    ok: false,
    errors: { path: "Needed", times: "Not a number" },
  });
});
