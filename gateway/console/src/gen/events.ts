// Generated from the protos by scripts/gen_events.py. Do not edit.

export const SESSION_EVENTS = [
  "turn",
  "prompt",
  "activity_delta",
  "text_delta",
  "text_reset",
  "tool",
  "gate",
  "status",
  "reset",
  "deleted",
  "worker_result",
] as const;
export type SessionEventName = (typeof SESSION_EVENTS)[number];

export const FEED_EVENTS = [
  "thread",
  "reset",
  "session",
  "worker",
  "plan",
] as const;
export type FeedEventName = (typeof FEED_EVENTS)[number];

export const THREAD_STATES = [
  "proposed",
  "awaiting_inference",
  "inferring_intent",
  "inferring_context",
  "inferring_action",
  "awaiting_intent_confirmation",
  "awaiting_context_confirmation",
  "awaiting_confirmation",
  "awaiting_intent_clarification",
  "awaiting_context_clarification",
  "awaiting_action_clarification",
  "awaiting_review",
  "awaiting_redirect",
  "done_cleanup_unsuccessful",
  "executing",
  "cleaning_up",
  "monitoring",
  "done",
  "dismissed",
  "handed_off",
  "done_cleanup_successful",
] as const;
export type ThreadState = (typeof THREAD_STATES)[number];

export const CARD_KINDS = [
  "consent",
  "clarification",
  "review",
  "redirect",
  "cleanup_failure",
  "confirmation",
] as const;
export type CardKind = (typeof CARD_KINDS)[number];

export const RELATIONSHIPS = [
  "decompose",
  "group",
  "singular",
] as const;
export type Relationship = (typeof RELATIONSHIPS)[number];

export const DISPLAY_MODES = [
  "actionable",
  "mid_process",
  "terminal",
] as const;
export type DisplayMode = (typeof DISPLAY_MODES)[number];

export const ACTOR_KINDS = [
  "user",
  "agent",
  "service",
  "fsm_engine",
] as const;
export type ActorKind = (typeof ACTOR_KINDS)[number];
