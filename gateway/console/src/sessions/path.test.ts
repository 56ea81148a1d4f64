import { expect, it } from "vitest";
import { sessionsAt, sessionUrl } from "./path";

it.each([
  ["/sessions", { id: undefined }],
  ["/sessions/", { id: undefined }],
  ["/sessions/ses_1", { id: "ses_1" }],
  ["/sessions/%E0%A4", { id: "%E0%A4" }],
  ["/", undefined],
  ["/threads/ses_1", undefined],
  ["/sessions/a/b", undefined],
])("%s", (path, at) => {
  expect(sessionsAt(path)).toEqual(at);
});

it("goes there and back", () => {
  expect(sessionsAt(sessionUrl("a b"))).toEqual({ id: "a b" });
});
