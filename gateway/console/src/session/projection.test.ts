import { expect, it } from "vitest";
import type { SessionEventName } from "../gen/events";
import { readEvent, type StreamEvent } from "./events";
import { placeOf } from "./place";
import { NOTHING, project, textOf, type Projection } from "./projection";

function event(name: SessionEventName, data: unknown, id = ""): StreamEvent {
  const read = readEvent(name, JSON.stringify(data), placeOf(id));
  if (!read) throw new Error("unreadable");
  return read;
}

function after(state: Projection, ...events: StreamEvent[]): Projection {
  return project(state, { type: "events", events });
}

const running = (turn: string, id: string): StreamEvent =>
  event("turn", { state: "running", turn_id: turn }, id);

const TURN = [
  event("prompt", { text: "go" }, "1-1"),
  running("t1", "1-2"),
  event("activity_delta", { delta: "hm", block: 1 }, "1-3"),
  event("activity_delta", { delta: "m", block: 1 }, "1-4"),
  event("text_delta", { delta: "one", block: 2 }, "1-5"),
  event("tool", { call_id: "c", name: "bash", status: "running" }, "1-6"),
  event("tool", { call_id: "c", name: "bash", status: "completed" }, "1-7"),
  event("text_delta", { delta: "two", block: 3 }, "1-8"),
  event("turn", { state: "idle", turn_id: "t1", outcome: "ok" }, "1-9"),
];

const short = ({ activity }: Projection): string[] =>
  activity.map(({ kind, text, status = "" }) => [kind, text, status].join(" ").trim());

it("keeps thinking apart from text, and the activity in order", () => {
  const state = after(NOTHING, ...TURN);
  expect(state.turns.map(textOf)).toEqual(["one\n\ntwo"]);
  expect(short(state)).toEqual([
    "prompt go sent",
    "turn running",
    "thinking hmm",
    "output one",
    "tool bash completed",
    "output two",
    "turn idle ok",
  ]);
});

it("counts every event once, whatever a reconnect replays", () => {
  const once = after(NOTHING, ...TURN);
  expect(after(once, ...TURN)).toBe(once);
});

it("ignores events of a generation that has passed", () => {
  const state = after(NOTHING, ...TURN, event("status", { code: "opened" }, "2-1"));
  expect(after(state, event("text_delta", { delta: "late", block: 9 }, "1-99"))).toBe(state);
});

it("starts the text anew in a new generation with lower ids, and keeps the activity", () => {
  const before = after(NOTHING, ...TURN);
  const state = after(
    before,
    event("reset", { reason: "generation", oldest_id: "2-1" }),
    event("status", { code: "opened", text: "opened" }, "2-1"),
    running("t2", "2-2"),
    event("text_delta", { delta: "new", block: 1 }, "2-3"),
  );
  expect(state.turns.map(textOf)).toEqual(["new"]);
  expect(state.resets).toBe(1);
  expect(short(state).slice(0, 7)).toEqual(short(before));
  expect(short(state).at(-1)).toBe("output new");
});

it("is told again from the start when its cursor was ahead, without showing anything twice", () => {
  const state = after(after(NOTHING, ...TURN), event("reset", { reason: "ahead" }), ...TURN);
  expect(state.turns.map(textOf)).toEqual(["one\n\ntwo"]);
  expect(state.activity.filter(({ kind }) => kind === "tool")).toHaveLength(1);
});

it("shows the same words once when they were sent from here", () => {
  const said = project(NOTHING, { type: "said", key: "k", text: "go", steer: false });
  expect(short(said)).toEqual(["prompt go sending"]);
  const state = after(said, ...TURN);
  expect(state.activity.filter(({ kind }) => kind === "prompt")).toHaveLength(1);
  expect(short(project(said, { type: "refused", key: "k" }))).toEqual(["prompt go refused"]);
});

it("drops text that was reset from the answer, and strikes it in the activity", () => {
  const state = after(
    NOTHING,
    running("t1", "1-1"),
    event("text_delta", { delta: "wrong", block: 1 }, "1-2"),
    event("text_reset", { blocks: [1] }, "1-3"),
    event("text_delta", { delta: "right", block: 2 }, "1-4"),
  );
  expect(state.turns.map(textOf)).toEqual(["right"]);
  expect(short(state)).toContain("output wrong discarded");
});

it("follows gates, steering and a failure", () => {
  const gate = (state: string, id: string, more = {}): StreamEvent =>
    event("gate", { gate_id: "g", kind: "choice", state, ...more }, id);
  const open = after(NOTHING, running("t", "1-1"), gate("open", "1-2", { proposal: { question: "?" } }));
  expect(open.gates).toMatchObject([{ id: "g", state: "open", proposal: { question: "?" } }]);
  const steered = after(
    open,
    gate("cancelled", "1-3"),
    event("prompt", { text: "left" }, "1-4"),
    running("t", "1-5"),
    event("turn", { state: "failed", turn_id: "t", code: "child_exit" }, "1-6"),
  );
  expect(steered.gates).toMatchObject([{ id: "g", state: "cancelled" }]);
  expect(steered.turns).toMatchObject([{ prompts: ["left"], state: "failed", code: "child_exit" }]);
});

it("gives text whose turn began out of sight to the turn that ends", () => {
  const state = after(
    NOTHING,
    event("text_delta", { delta: "tail", block: 4 }, "1-900"),
    event("turn", { state: "idle", turn_id: "t", outcome: "ok" }, "1-901"),
  );
  expect(state.turns).toMatchObject([{ id: "t", state: "idle" }]);
});

it.each([
  ["turn", { state: "dancing" }],
  ["turn", []],
])("does not read %s %j", (name, data) => {
  expect(readEvent(name as SessionEventName, JSON.stringify(data), undefined)).toBeUndefined();
});
