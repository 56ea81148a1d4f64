import { expect, it } from "vitest";
import { href, parse } from "./router";

it.each([
  ["/", { threadId: undefined, view: "inbox", filter: "", words: "" }],
  ["/threads/thr_1", { threadId: "thr_1", view: "inbox", filter: "", words: "" }],
  ["/threads/thr_1?view=all&state=done", { threadId: "thr_1", view: "all", filter: "done", words: "" }],
  ["/?view=all&q=oat+milk", { threadId: undefined, view: "all", filter: "", words: "oat milk" }],
  ["/?view=all", { threadId: undefined, view: "all", filter: "", words: "" }],
] as const)("%s goes there and back", (url, route) => {
  expect(parse(url)).toEqual(route);
  expect(href(route)).toBe(url);
});

it("survives addresses that nobody made", () => {
  expect(parse("/threads/%E0%A4").threadId).toBe("%E0%A4");
  expect(parse("/nowhere").threadId).toBeUndefined();
  expect(parse("/threads/a/b").threadId).toBeUndefined();
});
