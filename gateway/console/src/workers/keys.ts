// Names of the reads of workers, for the feed to make them stale. Pure.

export const workerKeys = {
  /** Also the beginning of what hangs on it: its notes. */
  roster: (session: string) => ["workers", session] as const,
  notes: (session: string, name: string) => ["workers", session, "notes", name] as const,
  assignment: (session: string) => ["assignment", session] as const,
  injection: (session: string, turn: string) => ["injection", session, turn] as const,
  /** A version's bytes never change: the feed does not touch it. */
  result: (session: string, name: string, version: number, full: boolean) =>
    ["worker-result", session, name, String(version), full ? "full" : "section"] as const,
};
