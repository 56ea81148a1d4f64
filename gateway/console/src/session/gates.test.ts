import { expect, it } from "vitest";
import { choiceOf, dialogOf, joinsOf, openQuestions, summaryOf } from "./gates";

it.each([
  [
    ["a", "b"],
    ["a", "b"],
  ],
  ["why?", ["why?"]],
  [
    ["a", 1, null, { text: "b" }, ["c"], "d", true],
    ["a", "d"],
  ],
  [{ text: "a" }, []],
  [null, []],
  [undefined, []],
  [7, []],
  ["", []],
  [["", "  "], []],
])("open questions of %j", (value, questions) => {
  expect(openQuestions(value)).toEqual(questions);
});

it.each([null, undefined, 7, "text", [], {}])("a proposal that is %j takes no widget down", (proposal) => {
  expect(choiceOf(proposal)).toEqual({ question: "Which one?", options: [], allowOther: false });
  expect(joinsOf(proposal)).toEqual([]);
  expect(summaryOf(proposal)).toEqual({ phase: "", summary: "", questions: [] });
  expect(dialogOf(proposal).method).toBe("input");
});

it("keeps what is well formed beside what is not", () => {
  const options = [{ id: "a", label: "A" }, { id: "b" }, "c", { label: "no id" }, null];
  expect(choiceOf({ question: "?", options, allow_other: true })).toEqual({
    question: "?",
    options: [
      { id: "a", label: "A" },
      { id: "b", label: "b" },
      { id: "c", label: "c" },
    ],
    allowOther: true,
  });
  expect(joinsOf({ joins: [{ left: "a", right: {}, type: "same" }, null] })).toEqual([
    { left: "a", right: "", type: "same", rationale: "" },
    { left: "", right: "", type: "", rationale: "" },
  ]);
});
