// The activity: a chronological list in memory. An entry with a `part` grows or changes in place. Pure.

export interface Entry {
  /** Unique on the page: the event's id, or a local one. */
  key: string;
  kind: "prompt" | "thinking" | "output" | "tool" | "gate" | "status" | "turn" | "worker" | "reset";
  text: string;
  status?: string;
  /** What later events of the same thing name: a block, a call, a gate. */
  part?: string;
  steer?: boolean;
  /** A second line, in words. */
  told?: string;
}

export type Activity = readonly Entry[];

export function appended(activity: Activity, entry: Entry): Activity {
  return [...activity, entry];
}

/** Changes the newest entry of that part (or key). */
export function changed(activity: Activity, part: string, change: Partial<Entry>): Activity {
  const at = activity.findLastIndex((entry) => entry.part === part || entry.key === part);
  return at === -1 ? activity : activity.with(at, { ...activity[at], ...change } as Entry);
}

/** A delta joins the entry of its block while nothing else came between; else a new one stands where it belongs in time. */
export function joined(
  activity: Activity,
  part: string,
  kind: "thinking" | "output",
  delta: string,
  key: string,
): Activity {
  const last = activity.at(-1);
  if (last?.part !== part) return appended(activity, { key, kind, text: delta, part });
  return activity.with(-1, { ...last, text: last.text + delta });
}

/** Without what the stream tells again from its start; what was said here stays. */
export function withoutReplayed(activity: Activity): Activity {
  return activity.filter(({ key }) => !/^\d/.test(key));
}
