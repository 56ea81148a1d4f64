// The list's cursor: it stays on its thread while rows come and go around it, and moves from where that thread was. Pure.

export interface Cursor {
  id: string | undefined;
  /** Where `id` stood when it was last seen in the list. */
  index: number;
}

export const NOWHERE: Cursor = { id: undefined, index: -1 };

export function at(ids: readonly string[], id: string, before: Cursor = NOWHERE): Cursor {
  const index = ids.indexOf(id);
  return { id, index: index === -1 ? Math.max(0, before.index) : index };
}

/** One step down (+1) or up (-1). When the cursor's thread has left the list, down is what took its place. */
export function step(ids: readonly string[], cursor: Cursor, by: 1 | -1): Cursor {
  if (ids.length === 0) return cursor;
  const here = cursor.id === undefined ? -1 : ids.indexOf(cursor.id);
  let next: number;
  if (here !== -1) next = here + by;
  else if (cursor.id === undefined) next = 0;
  else next = by === 1 ? cursor.index : cursor.index - 1;
  const index = Math.min(ids.length - 1, Math.max(0, next));
  return { id: ids[index], index };
}
