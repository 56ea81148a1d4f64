// Names of the reads of plans, for the feed to make them stale. Pure.

export const planKeys = {
  /** The beginning of all that hangs on a session's workspace. */
  all: (session: string) => ["plan", session] as const,
  objective: (session: string) => ["plan", session, "objective"] as const,
  steps: (session: string) => ["plan", session, "steps"] as const,
  documents: (session: string) => ["plan", session, "documents"] as const,
  document: (session: string, key: string) => ["plan", session, "documents", key] as const,
  context: (session: string, turn: string) => ["plan", session, "context", turn] as const,
  diff: (session: string, other: string) => ["plan", session, "diff", other] as const,
  /** A graph spans sessions: each change of any of them makes all graphs stale. */
  graphs: ["plan-graph"] as const,
  graph: (session: string) => ["plan-graph", session] as const,
};
