// What a person has in hand on the sessions page: rows selected, the session open, resumes under way. Pure.
//
// A resume is an intent keyed by session and token: only its own answer ends it. A delete touches what belongs to the
// ids that were really deleted, and nothing else (design/streaming.md D1.7).

export interface Desk {
  selection: readonly string[];
  active: string | undefined;
  /** Whether the activity of the open session is shown. */
  panel: boolean;
  resuming: Readonly<Record<string, string>>;
  /** Per session: a higher number means a new EventSource. */
  streamKey: Readonly<Record<string, number>>;
}

export interface DeleteResult {
  id: string;
  ok: boolean;
  code: string;
}

export type DeskAction =
  /** `roomy`: there is room for the activity beside the conversation. */
  | { type: "opened"; id: string | undefined; roomy: boolean }
  | { type: "toggled"; id: string }
  | { type: "selected"; ids: readonly string[] }
  | { type: "panel"; shown: boolean }
  | { type: "resuming"; id: string; token: string }
  | { type: "resumed"; id: string; token: string; ok: boolean }
  | { type: "deleted"; results: readonly DeleteResult[] };

export function desk(state: Desk, action: DeskAction): Desk {
  switch (action.type) {
    case "opened":
      if (state.active === action.id) return state;
      return { ...state, active: action.id, panel: state.active === undefined ? action.roomy : state.panel };
    case "toggled": {
      const without = state.selection.filter((id) => id !== action.id);
      const added = without.length === state.selection.length;
      return { ...state, selection: added ? [...without, action.id] : without };
    }
    case "selected":
      return { ...state, selection: action.ids };
    case "panel":
      return { ...state, panel: action.shown };
    case "resuming":
      return { ...state, resuming: { ...state.resuming, [action.id]: action.token } };
    case "resumed":
      return resumed(state, action);
    case "deleted":
      return deleted(state, action.results);
  }
}

function resumed(state: Desk, { id, token, ok }: { id: string; token: string; ok: boolean }): Desk {
  if (state.resuming[id] !== token) return state;
  const ended = { ...state, resuming: without(state.resuming, new Set([id])) };
  if (!ok || state.active !== id) return ended;
  return { ...ended, streamKey: { ...state.streamKey, [id]: (state.streamKey[id] ?? 0) + 1 } };
}

function deleted(state: Desk, results: readonly DeleteResult[]): Desk {
  const gone = new Set(results.filter(({ ok }) => ok).map(({ id }) => id));
  if (gone.size === 0) return state;
  const left = state.active !== undefined && gone.has(state.active);
  return {
    selection: state.selection.filter((id) => !gone.has(id)),
    active: left ? undefined : state.active,
    panel: left ? false : state.panel,
    resuming: without(state.resuming, gone),
    streamKey: without(state.streamKey, gone),
  };
}

function without<T>(record: Readonly<Record<string, T>>, ids: ReadonlySet<string>): Record<string, T> {
  return Object.fromEntries(Object.entries(record).filter(([id]) => !ids.has(id)));
}
