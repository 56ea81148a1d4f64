// The resources of /api as the console reads them (protos/treadle/threads/v1). ProtoJSON leaves out what is empty:
// every optional here may be absent, and the readers below the API do not guess.
import type { ActorKind, CardKind, DisplayMode, Relationship, ThreadState } from "../gen/events";

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
export type JsonObject = Record<string, Json>;

export interface Action {
  id: string;
  proposal_id: string;
  proposal_digest: string;
  revision?: number;
  name: string;
  kind?: string;
  parameters?: JsonObject;
  plan_summary?: string;
  rationale?: string;
  blocked_on?: string;
  irreversibility?: string;
  regret_potential?: string;
  risk_amplifier?: boolean;
  confidence?: number;
  model_used?: string;
  /** Hoisted actions only: the thread that owns the proposal. Decisions go there. */
  host_thread_id?: string;
  host_title?: string;
  host_state?: ThreadState;
  state?: string;
  settled?: boolean;
}

export interface ContextItem {
  id: string;
  display_index?: number;
  label?: string;
  source?: string;
  type?: string;
  payload?: Json;
}

export interface Thread {
  name: string;
  id: string;
  etag: string;
  state: ThreadState;
  title: string;
  description?: string;
  create_time: string;
  update_time?: string;
  latest_activity?: string;
  parent_id?: string;
  root_id?: string;
  /** Where an agent proposed it. */
  session_id?: string;
  card_kind?: CardKind;
  display_mode?: DisplayMode;
  intent?: { text?: string; confidence?: number };
  context?: { text?: string; confidence?: number };
  context_items?: ContextItem[];
  actions?: Action[];
  risk_highlight?: string;
  sub_thread_count?: number;
  sub_thread_state_counts?: Partial<Record<ThreadState, number>>;
  open_children?: number;
  parent_relationship?: Relationship;
  /** How many actions are hoisted in all; `actions` may hold the first of them only. */
  hoisted_count?: number;
  /** Ids of the ancestors, root first. */
  path?: string[];
  /** Position among its siblings, in spawn order. */
  ordinal?: number;
  /** How many open threads cannot end before this one is decided. */
  waiting_behind?: number;
  can_clean_up?: boolean;
  resurface_at?: string;
  question?: string;
  failure_context?: { code?: string; action?: string; failure_time?: string };
  review_context?: { action?: string; execution_time?: string };
  cleanup_failure?: string;
}

export interface ThreadPage {
  threads?: Thread[];
  next_page_token?: string;
  total_size?: number;
}

export interface ThreadEvent {
  id: string;
  /** int64: ProtoJSON writes it as a string. */
  seq: string | number;
  kind: string;
  actor?: { kind?: ActorKind; subject?: string };
  event_time: string;
  data?: JsonObject;
}

export interface EventPage {
  events?: ThreadEvent[];
  next_page_token?: string;
}

export interface Explanation {
  state: ThreadState;
  summary?: string;
  waits_on?: string;
  since_time?: string;
  moves?: string[];
  timer_time?: string;
  /** Open descendants without children of their own, failed ones first; at most 50 of `waits_for_count`. */
  waits_for?: WaitedFor[];
  waits_for_count?: number;
}

export interface WaitedFor {
  thread_id: string;
  title: string;
  state: ThreadState;
  since_time?: string;
  waits_on?: string;
  code?: string;
}

export interface Decision {
  thread_id?: string;
  prev_state?: ThreadState;
  /** Absent in the answer of force_close, which is about a whole family. */
  next_state?: ThreadState;
  resurface_at?: string;
}

export interface ActionParameter {
  name: string;
  type?: string;
  description?: string;
  required?: boolean;
}

export interface ActionOption {
  capability_name: string;
  label?: string;
  description?: string;
  cardinality?: string;
  default_params?: JsonObject;
  parameters?: ActionParameter[];
}

export interface GroupPage {
  umbrella_id: string;
  source?: string;
  groups?: Thread[];
  action_options?: ActionOption[];
  next_page_token?: string;
}

export interface Preview {
  events?: { thread_id: string; kind: string; to_state?: ThreadState; trigger?: string }[];
  jobs?: string[];
  etag?: string;
}

/** What happened to one thread of a batch. */
export interface ItemOutcome {
  thread_id: string;
  ok?: boolean;
  code?: string;
  message?: string;
  state?: ThreadState;
}

/** A thread and the proposal that was looked at. */
export interface CitedProposal {
  thread_id: string;
  proposal_id?: string;
  proposal_digest?: string;
  decision?: "approve" | "reject" | "dismiss";
}

/** The answer of approve_all. */
export interface Outcomes {
  approved?: string[];
  failed?: ItemOutcome[];
  skipped_terminal?: string[];
}
