// The columns of a group umbrella as they are shown: what the service says, with the moves that are under way laid over
// it. Pure: taking a move away again is all that undoing one needs (design/threads.md §0.11, §4.10).
import { proposalOf } from "../api/decisions";
import type { Action, ContextItem, Thread } from "../api/types";
import type { ThreadState } from "../gen/events";
import { ENDED } from "../text/states";

export interface Column {
  thread: Thread;
  items: readonly ContextItem[];
}

/** Items of one column that go to another, as one call. */
export interface Move {
  from: string;
  to: string;
  items: readonly string[];
}

/** An item where it lies: item ids are unique in a thread, not on a board. */
export type Key = string;

export function keyOf(column: string, item: string): Key {
  return `${column}|${item}`;
}

export function partsOf(key: Key): { column: string; item: string } {
  const cut = key.indexOf("|");
  return { column: key.slice(0, cut), item: key.slice(cut + 1) };
}

export function open(thread: Thread): boolean {
  return !ENDED.includes(thread.state);
}

/** Whether items may leave or enter it: an executing end is refused. */
export function movable(thread: Thread): boolean {
  return open(thread) && thread.state !== "executing";
}

const PICKABLE: readonly ThreadState[] = [
  "awaiting_inference",
  "awaiting_action_clarification",
  "awaiting_confirmation",
];

/** Whether an action may be picked or cleared in its state (design/threads.md §0.2). */
export function pickable(thread: Thread): boolean {
  return PICKABLE.includes(thread.state);
}

/** The proposal that "approve all" would approve. */
export function approvable(thread: Thread): Action | undefined {
  return thread.state === "awaiting_confirmation" ? proposalOf(thread) : undefined;
}

/** Open columns in spawn order. What the sub-LLMs said stays with its thread: it is a record, not an item to sort. */
export function columnsOf(groups: readonly Thread[]): Column[] {
  return groups.filter(open).map((thread) => ({
    thread,
    items: (thread.context_items ?? []).filter((item) => item.source !== "subcall"),
  }));
}

/** The columns after the moves. One that the service has carried out already, or whose ends are gone, changes nothing. */
export function placed(columns: readonly Column[], moves: readonly Move[]): Column[] {
  return moves.reduce<Column[]>(
    (now, move) => {
      const source = now.find((column) => column.thread.id === move.from);
      const target = now.find((column) => column.thread.id === move.to);
      if (!source || !target) return now;
      const going = move.items.flatMap((id) => source.items.find((item) => item.id === id) ?? []);
      const gone = new Set(going.map((item) => item.id));
      const there = new Set(target.items.map((item) => item.id));
      return now.map((column) => {
        if (column === source) return { ...column, items: column.items.filter((item) => !gone.has(item.id)) };
        if (column === target)
          return { ...column, items: [...column.items, ...going.filter((item) => !there.has(item.id))] };
        return column;
      });
    },
    [...columns],
  );
}

/** The calls that bring the items into a column: one for each column that they are taken from, in the board's order. */
export function plan(columns: readonly Column[], keys: readonly Key[], to: string): Move[] {
  const wanted = new Set(keys);
  return columns
    .filter(({ thread }) => thread.id !== to && movable(thread))
    .map(({ thread, items }) => ({
      from: thread.id,
      to,
      items: items.map((item) => item.id).filter((id) => wanted.has(keyOf(thread.id, id))),
    }))
    .filter((move) => move.items.length > 0);
}
