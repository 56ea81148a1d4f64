// Plans as /api tells them: the fields of treadle.planning.v1 that the console uses.

export interface Objective {
  text: string;
  version: number;
  etag: string;
  updated_by: string;
  update_time?: string;
}

export interface Step {
  id: string;
  index: number;
  number: string;
  text: string;
  done: boolean;
  origin_id: string;
  leaf: boolean;
}

export interface Plan {
  steps: Step[];
  version: number;
  leaves: number;
  done_leaves: number;
  complete: boolean;
}

export interface Doc {
  key: string;
  content?: string;
  size: number;
  locked: boolean;
  etag: string;
  updated_by: string;
  update_time?: string;
}

/** What planning told the agent in a turn. */
export interface PlanContext {
  text: string;
  sha256: string;
  create_time?: string;
}

export interface Branch {
  session_id: string;
  state: "forking" | "ready" | "failed";
  forked: boolean;
  reason: string;
}

export interface Node {
  turn_id: string;
  parent_turn_id: string;
  session_id: string;
  number: number;
  running: boolean;
  outcome: string;
  objective: string;
  leaves: number;
  done_leaves: number;
  restorable: boolean;
  create_time?: string;
}

export interface Head {
  session_id: string;
  turn_id: string;
  state: "forking" | "ready" | "failed";
  origin_session_id: string;
  fork_turn_id: string;
  objective: string;
  leaves: number;
  done_leaves: number;
}

export interface Graph {
  nodes: Node[];
  heads: Head[];
}

export type ChangeKind = "added" | "removed" | "moved" | "edited" | "toggled";

export interface Change {
  origin_id: string;
  kinds: ChangeKind[];
  before?: Step;
  after?: Step;
}

export interface Diff {
  changes: Change[];
  objective_changed: boolean;
  objective: string;
  other_objective: string;
  version: number;
  other_version: number;
}
