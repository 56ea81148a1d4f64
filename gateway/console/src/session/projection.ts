// What a page knows of a session's stream: turns with their final text, open gates, and the activity. A pure reducer.
//
// Every event counts once, whatever a reconnect replays: `seen` is the last place. The activity is in memory only and
// is cleared by nothing but leaving the page; a `reset` drops the text that follows anew, never the activity.
import { appended, changed, joined, withoutReplayed, type Activity, type Entry } from "./activity";
import type { StreamEvent, TurnState } from "./events";
import { compare, type Place } from "./place";
import { workerEnd } from "../workers/words";

export interface Turn {
  id: string;
  prompts: readonly string[];
  blocks: readonly { block: number; text: string }[];
  state: TurnState;
  outcome: string;
  code: string;
}

export interface OpenGate {
  id: string;
  kind: string;
  state: string;
  proposal: unknown;
}

export interface Projection {
  seen: Place | undefined;
  state: TurnState | undefined;
  /** Turns of this generation, as far as the stream tells of them. */
  turns: readonly Turn[];
  /** Accepted, but its turn has not begun. */
  pending: readonly string[];
  gates: readonly OpenGate[];
  activity: Activity;
  deleted: boolean;
  /** How often the stream said that what follows is no continuation. */
  resets: number;
}

export type Action =
  | { type: "events"; events: readonly StreamEvent[] }
  | { type: "said"; key: string; text: string; steer: boolean }
  | { type: "refused"; key: string };

export const NOTHING: Projection = {
  seen: undefined,
  state: undefined,
  turns: [],
  pending: [],
  gates: [],
  activity: [],
  deleted: false,
  resets: 0,
};

export function project(state: Projection, action: Action): Projection {
  switch (action.type) {
    case "events":
      return action.events.reduce(take, state);
    case "said":
      return {
        ...state,
        activity: appended(state.activity, {
          key: `local-${action.key}`,
          kind: "prompt",
          text: action.text,
          status: "sending",
          steer: action.steer,
        }),
      };
    case "refused":
      return {
        ...state,
        activity: changed(state.activity, `local-${action.key}`, { status: "refused" }),
      };
  }
}

function take(before: Projection, event: StreamEvent): Projection {
  const { place } = event;
  if (!place) return event.name === "reset" ? restarted(before, event.reason) : told(before, event, "");
  const order = compare(before.seen, place);
  if (order === "old") return before;
  const state = order === "fresh" && before.seen ? emptied(before) : before;
  return told({ ...state, seen: place }, event, `${place.generation}-${place.n}`);
}

/** What follows is told anew. A cursor that was ahead or malformed is answered with what was partly seen before. */
function restarted(state: Projection, reason: string): Projection {
  const replays = reason === "ahead" || reason === "malformed";
  const kept = replays ? withoutReplayed(state.activity) : state.activity;
  const base = reason === "gap" ? state : emptied(state);
  return {
    ...base,
    seen: replays ? undefined : state.seen,
    resets: state.resets + 1,
    activity: appended(kept, {
      key: `reset-${state.resets}`,
      kind: "reset",
      text: RESETS[reason] ?? "The stream starts anew",
    }),
  };
}

const RESETS: Partial<Record<string, string>> = {
  gap: "Some events were missed",
  generation: "The stream starts anew: a new generation",
  ahead: "The stream starts anew: it was read further than it reaches",
};

function emptied(state: Projection): Projection {
  return { ...state, turns: [], pending: [], gates: [] };
}

function told(state: Projection, event: StreamEvent, id: string): Projection {
  const log = (entry: Omit<Entry, "key">): Activity => appended(state.activity, { ...entry, key: id });
  const turn = state.turns.at(-1);
  const scope = `${String(state.seen?.generation ?? 0)}/${turn?.id ?? ""}`;
  switch (event.name) {
    case "prompt":
      return prompted(state, event.text, id);
    case "turn":
      return turned(state, event, id);
    case "activity_delta":
      return {
        ...state,
        activity: joined(state.activity, `thinking/${scope}/${event.block}`, "thinking", event.delta, id),
      };
    case "text_delta":
      return {
        ...withTurn(state, (last) => ({ ...last, blocks: grown(last.blocks, event.block, event.delta) })),
        activity: joined(state.activity, `output/${scope}/${event.block}`, "output", event.delta, id),
      };
    case "text_reset":
      return {
        ...withTurn(state, (last) => ({
          ...last,
          blocks: last.blocks.filter(({ block }) => !event.blocks.includes(block)),
        })),
        activity: event.blocks.reduce(
          (entries, block) => changed(entries, `output/${scope}/${block}`, { status: "discarded" }),
          state.activity,
        ),
      };
    case "tool": {
      const part = `tool/${scope}/${event.callId}`;
      const known = state.activity.some((entry) => entry.part === part);
      return {
        ...state,
        activity: known
          ? changed(state.activity, part, { status: event.status })
          : log({ kind: "tool", text: event.tool, status: event.status, part }),
      };
    }
    case "gate": {
      const known = state.gates.find((gate) => gate.id === event.gateId);
      const gate = {
        id: event.gateId,
        kind: event.kind || (known?.kind ?? ""),
        state: event.state,
        proposal: event.proposal ?? known?.proposal,
      };
      const part = `gate/${event.gateId}`;
      return {
        ...state,
        gates: known
          ? state.gates.map((other) => (other.id === gate.id ? gate : other))
          : [...state.gates, gate],
        activity: state.activity.some((entry) => entry.part === part)
          ? changed(state.activity, part, { status: event.state })
          : log({ kind: "gate", text: gate.kind, status: event.state, part }),
      };
    }
    case "status":
      return { ...state, activity: log({ kind: "status", text: event.text || event.code }) };
    case "worker_result":
      return {
        ...state,
        activity: log({ kind: "worker", text: event.worker, status: event.status, told: workerEnd(event) }),
      };
    case "deleted":
      return { ...state, deleted: true };
    case "reset":
      return restarted(state, event.reason);
  }
}

/** The person's own words stand in the activity already, as they were sent from here: they are not said twice. */
function prompted(state: Projection, text: string, id: string): Projection {
  const own = state.activity.find(
    (entry) => entry.kind === "prompt" && entry.status === "sending" && entry.text === text,
  );
  const activity = own
    ? state.activity.map((entry) => (entry === own ? { ...own, status: "sent" } : entry))
    : appended(state.activity, { key: id, kind: "prompt", text, status: "sent" });
  return { ...state, pending: [...state.pending, text], activity };
}

function turned(state: Projection, event: Extract<StreamEvent, { name: "turn" }>, id: string): Projection {
  const { turnId, outcome, code } = event;
  const known = state.turns.some((turn) => turn.id === turnId || turn.id === "");
  const busy = event.state === "running" || event.state === "waiting";
  const turn: Turn = { id: turnId, prompts: [], blocks: [], state: event.state, outcome, code };
  // A turn of an earlier generation is only named here; its text is among the messages.
  const turns = known || turnId === "" || !busy ? state.turns : [...state.turns, turn];
  return {
    ...state,
    state: event.state,
    pending: busy ? [] : state.pending,
    turns: turns.map((other) =>
      other.id === turnId || other.id === ""
        ? {
            ...other,
            id: turnId,
            state: event.state,
            outcome,
            code,
            prompts: busy ? [...other.prompts, ...state.pending] : other.prompts,
          }
        : other,
    ),
    activity: appended(state.activity, {
      key: id,
      kind: "turn",
      text: event.state,
      status: code || outcome,
    }),
  };
}

function withTurn(state: Projection, change: (turn: Turn) => Turn): Projection {
  const last = state.turns.at(-1) ?? EARLIER;
  return { ...state, turns: [...state.turns.slice(0, -1), change(last)] };
}

/** Text whose turn began before what the stream still holds. */
const EARLIER: Turn = { id: "", prompts: [], blocks: [], state: "running", outcome: "", code: "" };

function grown(blocks: Turn["blocks"], block: number, delta: string): Turn["blocks"] {
  const known = blocks.some((other) => other.block === block);
  if (!known) return [...blocks, { block, text: delta }];
  return blocks.map((other) => (other.block === block ? { block, text: other.text + delta } : other));
}

/** The final text as it stands: blocks are paragraphs of one answer, as the service keeps them. */
export function textOf(turn: Turn): string {
  return turn.blocks.map(({ text }) => text).join("\n\n");
}
