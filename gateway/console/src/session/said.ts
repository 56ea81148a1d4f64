// What was said, turn by turn: the kept messages, and what the stream tells beyond them. Pure.
import type { Message } from "./api";
import type { TurnState } from "./events";
import { textOf, type Projection } from "./projection";

export interface Said {
  id: string;
  /** The turn's number; undefined while only the stream knows of it. */
  number: number | undefined;
  prompts: readonly string[];
  text: string;
  /** Still being written. */
  live: boolean;
  partial: boolean;
  state: TurnState;
  outcome: string;
  code: string;
}

/** A settled turn's text is the kept one; steering, outcome and failure are known from the stream alone. */
export function conversation(messages: readonly Message[], { turns, pending }: Projection): Said[] {
  const said = new Map<string, Said>();
  for (const message of messages) {
    const turn = said.get(message.turn_id) ?? { ...empty(message.turn_id), number: message.turn };
    said.set(
      message.turn_id,
      message.role === "user"
        ? { ...turn, prompts: [...turn.prompts, message.text] }
        : { ...turn, text: message.text, partial: message.partial },
    );
  }
  for (const turn of turns) {
    const kept = said.get(turn.id);
    const live = turn.state === "running" || turn.state === "waiting";
    const { state, outcome, code } = turn;
    const prompts =
      turn.prompts.length > (kept?.prompts.length ?? 0) ? turn.prompts : (kept?.prompts ?? turn.prompts);
    const text = live || !kept?.text ? textOf(turn) : kept.text;
    const partial = !live && (kept?.partial ?? false);
    said.set(turn.id, {
      id: turn.id,
      number: kept?.number,
      prompts,
      text,
      partial,
      live,
      state,
      outcome,
      code,
    });
  }
  const all = [...said.values()];
  return pending.length > 0 ? [...all, { ...empty("pending"), prompts: pending, live: true }] : all;
}

function empty(id: string): Said {
  return {
    id,
    number: undefined,
    prompts: [],
    text: "",
    partial: false,
    live: false,
    state: "idle",
    outcome: "",
    code: "",
  };
}
