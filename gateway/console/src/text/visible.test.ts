import { expect, it } from "vitest";
import { visible } from "./visible";

it("shows what could deceive and leaves ordinary text alone", () => {
  expect(visible("invoice\u202efdp.exe")).toBe("invoice⟨U+202E⟩fdp.exe");
  expect(visible("a\u200bb\u0000")).toBe("a⟨U+200B⟩b⟨U+0000⟩");
  expect(visible("tag\u{e0041}")).toBe("tag⟨U+E0041⟩");
  expect(visible("Größe\tzwei\nZeilen — 你好 👍🏽")).toBe("Größe\tzwei\nZeilen — 你好 👍🏽");
  expect(visible("a\r\nb\rc")).toBe("a\nb⟨U+000D⟩c");
});

it("leaves joiners where writing needs them, and nowhere else", () => {
  expect(visible("👩\u200d👩\u200d👧")).toBe("👩\u200d👩\u200d👧");
  expect(visible("❤\ufe0f\u200d🔥 👍🏽\u200d🔬")).toBe("❤\ufe0f\u200d🔥 👍🏽\u200d🔬");
  expect(visible("می\u200cخواهم")).toBe("می\u200cخواهم");
  expect(visible("pay\u200dpal 👩\u200d")).toBe("pay⟨U+200D⟩pal 👩⟨U+200D⟩");
  expect(visible("a\r\nb\rc")).toBe("a\nb⟨U+000D⟩c");
});
