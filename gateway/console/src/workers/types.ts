// Workers as /api tells them: the fields of treadle.coordination.v1 that the console uses.

export type WorkerStatus =
  "spawning" | "running" | "succeeded" | "failed" | "cancelled" | "interrupted" | "unknown";

export interface Worker {
  name: string;
  id: string;
  coordinator_session_id: string;
  /** `subagent`: Treadle runs it. `session`: it was registered, and runs elsewhere or by hand. */
  kind: "subagent" | "session";
  status: WorkerStatus;
  reason: string;
  has_result: boolean;
  partial: boolean;
  brief: string;
  ids?: { subagent_id?: string; subagent_session_id?: string; worker_session_id?: string };
  note_count: number;
  result_length: number;
  /** 0: no report yet. */
  result_version: number;
  waiting: boolean;
  cancel_requested: boolean;
  cancel_reason: string;
  late: boolean;
  create_time: string;
  start_time?: string;
  end_time?: string;
  expire_time?: string;
}

export interface Policy {
  auto_wake?: boolean;
  budget_seconds?: number;
  budget_tokens?: number;
}

export interface Roster {
  coordinator_session_id: string;
  enabled: boolean;
  note_count: number;
  threads: Worker[];
  policy?: Policy;
  spent_seconds: number;
  spent_tokens: number;
}

export interface Note {
  sequence: number;
  text: string;
  by: string;
  create_time: string;
}

export interface Collected {
  collected: boolean;
  status: WorkerStatus;
  reason: string;
  partial: boolean;
  result: string;
  found: boolean;
  version: number;
  final: boolean;
  result_length: number;
  result_sha256: string;
  next_page_token: string;
  worker_session_id: string;
  hint: string;
  as_of_time?: string;
}

export interface Injection {
  turn_id: string;
  role: string;
  text: string;
  sha256: string;
  create_time?: string;
}
