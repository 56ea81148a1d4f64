// The resources of /api as the console reads them (protos/treadle/threads/v1). ProtoJSON leaves out what is empty:
// every optional here may be absent, and the readers below the API do not guess.
import type { ActorKind, CardKind, DisplayMode, ThreadState } from "../gen/events";

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
  card_kind?: CardKind;
  display_mode?: DisplayMode;
  intent?: { text?: string; confidence?: number };
  context?: { text?: string; confidence?: number };
  context_items?: ContextItem[];
  actions?: Action[];
  risk_highlight?: string;
  sub_thread_count?: number;
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
}

export interface Decision {
  thread_id: string;
  prev_state: ThreadState;
  next_state: ThreadState;
  resurface_at?: string;
}
