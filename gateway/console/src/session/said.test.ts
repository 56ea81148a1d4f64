import { expect, it } from "vitest";
import type { Message } from "./api";
import { NOTHING, type Turn } from "./projection";
import { conversation } from "./said";

const message = (turn: string, role: Message["role"], text: string): Message => ({
  sequence: 1,
  turn_id: turn,
  role,
  text,
  partial: false,
  create_time: "",
});
const turn = (id: string, change: Partial<Turn>): Turn => ({
  id,
  prompts: [],
  blocks: [],
  state: "running",
  outcome: "",
  code: "",
  ...change,
});

it("takes the kept text of a settled turn, and what the stream knows beyond it", () => {
  const kept = [message("a", "user", "go"), message("a", "assistant", "authoritative")];
  const told = turn("a", {
    state: "idle",
    prompts: ["go", "left"],
    blocks: [{ block: 1, text: "streamed" }],
  });
  const [said] = conversation(kept, { ...NOTHING, turns: [told] });
  expect(said).toMatchObject({ prompts: ["go", "left"], text: "authoritative", live: false });
});

it("shows a running turn from the stream, after what was kept, then what waits to begin", () => {
  const kept = [message("a", "user", "one"), message("a", "assistant", "1")];
  const told = turn("b", { prompts: ["two"], blocks: [{ block: 1, text: "2" }] });
  const said = conversation(kept, { ...NOTHING, turns: [told], pending: ["three"] });
  expect(said.map(({ prompts, text, live }) => [prompts, text, live])).toEqual([
    [["one"], "1", false],
    [["two"], "2", true],
    [["three"], "", true],
  ]);
});
