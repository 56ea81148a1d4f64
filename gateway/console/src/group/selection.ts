// Which items are chosen, and where the keyboard is. Pure.
import { keyOf, partsOf, type Column, type Key } from "./placing";

export interface Selection {
  chosen: readonly Key[];
  /** Where a range begins. */
  anchor: Key | undefined;
}

export const NONE: Selection = { chosen: [], anchor: undefined };

export function only(key: Key): Selection {
  return { chosen: [key], anchor: key };
}

export function toggled({ chosen }: Selection, key: Key): Selection {
  const without = chosen.filter((other) => other !== key);
  return { chosen: without.length < chosen.length ? without : [...chosen, key], anchor: key };
}

/** From the anchor to the key, in one column; elsewhere the key is added. */
export function ranged(columns: readonly Column[], selection: Selection, key: Key): Selection {
  const anchor = selection.anchor;
  const keys = keysIn(columns, partsOf(key).column);
  const from = anchor === undefined ? -1 : keys.indexOf(anchor);
  if (anchor === undefined || from === -1) {
    return { chosen: [...new Set([...selection.chosen, key])], anchor: key };
  }
  const to = keys.indexOf(key);
  const between = keys.slice(Math.min(from, to), Math.max(from, to) + 1);
  return { chosen: [...new Set([...selection.chosen, ...between])], anchor };
}

/** Without what is not on the board any more. */
export function present(columns: readonly Column[], selection: Selection): Selection {
  const there = new Set(allKeys(columns));
  const chosen = selection.chosen.filter((key) => there.has(key));
  return chosen.length === selection.chosen.length ? selection : { ...selection, chosen };
}

/** What a press of "move" or a drag is about: the chosen, or the one item when it is not among them. */
export function subject(selection: Selection, key: Key | undefined): readonly Key[] {
  if (key === undefined || selection.chosen.includes(key)) return selection.chosen;
  return [key];
}

/** Up or down over the whole board, column by column. */
export function next(columns: readonly Column[], key: Key | undefined, by: 1 | -1): Key | undefined {
  const keys = allKeys(columns);
  const here = key === undefined ? -1 : keys.indexOf(key);
  if (here === -1) return by === 1 ? keys[0] : keys.at(-1);
  return keys[here + by] ?? key;
}

/** The same height in the nearest column to the side that holds something. */
export function aside(columns: readonly Column[], key: Key, by: 1 | -1): Key {
  const { column } = partsOf(key);
  const here = columns.findIndex(({ thread }) => thread.id === column);
  const height = Math.max(0, keysIn(columns, column).indexOf(key));
  for (let index = here + by; index >= 0 && index < columns.length; index += by) {
    const found = columns[index];
    const keys = found ? keysIn(columns, found.thread.id) : [];
    const there = keys[Math.min(height, keys.length - 1)];
    if (there !== undefined) return there;
  }
  return key;
}

export function allKeys(columns: readonly Column[]): Key[] {
  return columns.flatMap(({ thread, items }) => items.map((item) => keyOf(thread.id, item.id)));
}

function keysIn(columns: readonly Column[], id: string): Key[] {
  return allKeys(columns.filter(({ thread }) => thread.id === id));
}
