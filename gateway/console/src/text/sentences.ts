// A log entry as a sentence. Kinds and triggers that this build does not know are shown by their names, never hidden.
import type { Json, ThreadEvent } from "../api/types";
import type { ThreadState } from "../gen/events";
import { plainName, wordsOf, type Tone } from "./states";

export interface Sentence {
  text: string;
  /** What was said or written by a person or a model: shown as a quotation. */
  quote?: string;
  tone: Tone;
  /** A step of the machinery: worth keeping, not worth reading unless one asks. */
  routine?: boolean;
}

const ROUTINE = new Set(["begin_inference", "inference_claimed", "inference_done"]);

const TRIGGERS: Partial<Record<string, readonly [text: string, tone: Tone]>> = {
  begin_inference: ["asked for inference", "quiet"],
  inference_claimed: ["took it up", "quiet"],
  inference_lost: ["lost its runner; it is tried again", "warn"],
  inference_refused: ["refused inference", "warn"],
  inference_done: ["finished inferring", "quiet"],
  inference_failed: ["could not infer it", "warn"],
  confirmed: ["confirmed", "wait"],
  edited: ["edited", "wait"],
  redirected: ["sent it back", "wait"],
  provided: ["answered", "wait"],
  rejected: ["rejected the action", "wait"],
  execute: ["approved the action", "done"],
  execution_done: ["finished the action", "done"],
  execution_failed: ["reported that the action failed", "warn"],
  review_accepted: ["accepted the result", "done"],
  dismissed_by_user: ["dismissed it", "quiet"],
  timeout: ["ran out of time", "quiet"],
  parent_force_close: ["closed it with its parent", "quiet"],
  action_picked: ["picked an action", "wait"],
  hand_off: ["handed it off", "quiet"],
  children_spawned: ["opened sub-threads", "busy"],
  cleanup_requested: ["asked for the source to be cleaned up", "busy"],
  cleanup_succeeded: ["cleaned up the source", "done"],
  cleanup_failed: ["could not clean up the source", "warn"],
  retry_cleanup: ["asked for the clean-up again", "busy"],
  accept_cleanup_failure: ["left the source as it is", "quiet"],
};

export function sentence(event: ThreadEvent): Sentence {
  const data = event.data ?? {};
  switch (event.kind) {
    case "thread_created":
      return { text: "opened the thread", tone: "quiet" };
    case "inciting_event":
      return { text: "brought the matter", tone: "quiet" };
    case "state_transition":
      return transition(data);
    case "intent_inferred":
      return quoted("read the intent", inner(data["payload"], "intent"), "busy");
    case "context_inferred":
      return quoted("gathered the context", inner(data["payload"], "context", "summary"), "busy");
    case "action_inferred":
      return proposed(data);
    case "action_redirected_with_feedback":
      return quoted("asked for another action", string(data["feedback"]), "wait");
    case "execution_started":
      return { text: `started ${string(data["capability_name"]) || "the action"}`, tone: "busy" };
    case "execution_finished":
      return executed(data);
    case "later":
      return { text: "put it off", tone: "quiet" };
    case "thread_renamed":
      return quoted("renamed it", string(data["new_title"]), "quiet");
    case "subthreads_spawned":
      return {
        text: `opened ${counted(data["child_thread_ids"], "sub-thread")}`,
        tone: "busy",
        routine: true,
      };
    case "groups_spawned":
      return quoted(
        data["user_created"] === true
          ? "added a group"
          : `made ${counted(data["child_thread_ids"], "group")}`,
        strings(data["child_labels"]).join(", "),
        "busy",
      );
    case "subthread_terminal_reported":
      return reported(string(data["child_terminal_state"]));
    case "parent_force_close":
      return { text: `closed ${counted(data["cascaded"], "sub-thread")} with it`, tone: "quiet" };
    case "context_item_moved":
      return {
        text: data["direction"] === "in" ? "moved an item here" : "moved an item to another group",
        tone: "quiet",
      };
    case "group_deleted":
      return { text: "deleted a group", tone: "quiet" };
    case "source_cleaned_up":
      return {
        text:
          data["source_already_gone"] === true ? "found the source already gone" : "cleaned up the source",
        tone: "done",
      };
    case "cleanup_failed":
      return { text: "could not clean up the source", tone: "warn" };
    case "auto_advance_decision":
      return data["advance"] === true
        ? { text: "let it go on by policy", tone: "quiet", routine: true }
        : { text: "stopped for a person, by policy", tone: "quiet", routine: true };
    default:
      return { text: plainName(event.kind).toLowerCase(), tone: "quiet" };
  }
}

function transition(data: Record<string, Json>): Sentence {
  const trigger = string(data["trigger"]) || string(data["reason"]);
  const known = TRIGGERS[trigger];
  const [text, tone] = known ?? [plainName(trigger || "moved").toLowerCase(), "quiet"];
  const quote = string(data["feedback"]) || string(data["redirect_feedback"]) || string(data["text"]);
  const to = string(data["to"]);
  const label = wordsOf(to as ThreadState).label.toLowerCase();
  const moved = to === "" || to === data["from"] || text.startsWith(label) ? "" : ` → ${label}`;
  return { ...quoted(text + moved, quote, tone), routine: ROUTINE.has(trigger) };
}

function proposed(data: Record<string, Json>): Sentence {
  if (data["cleared"] === true) return { text: "cleared the proposal", tone: "quiet" };
  const name = inner(data["payload"], "name", "capability_name") || "an action";
  const verb = data["from_user_override"] === true ? "changed the proposal to" : "proposed";
  return quoted(`${verb} ${name}`, inner(data["payload"], "plan_summary"), "busy");
}

function executed(data: Record<string, Json>): Sentence {
  const name = string(data["capability_name"]) || "the action";
  if (data["success"] === true) return { text: `completed ${name}`, tone: "done" };
  const code = string(data["code"]);
  return { text: `failed at ${name}${code ? ` (${code})` : ""}`, tone: "warn" };
}

function reported(state: string): Sentence {
  const { label, tone } = wordsOf(state as ThreadState);
  return { text: `heard that a sub-thread has ended: ${label.toLowerCase()}`, tone };
}

function strings(value: Json | undefined): string[] {
  return Array.isArray(value) ? value.filter((entry): entry is string => typeof entry === "string") : [];
}

function counted(value: Json | undefined, noun: string): string {
  const count = Array.isArray(value) ? value.length : 0;
  return count === 0 ? `${noun}s` : `${count} ${noun}${count === 1 ? "" : "s"}`;
}

function quoted(text: string, quote: string, tone: Tone): Sentence {
  return quote === "" ? { text, tone } : { text, quote, tone };
}

function string(value: Json | undefined): string {
  return typeof value === "string" ? value : "";
}

/** The first of the fields that is text, in an object; a payload that is itself text is that text. */
function inner(value: Json | undefined, ...fields: string[]): string {
  if (typeof value === "string") return value;
  if (typeof value !== "object" || value === null || Array.isArray(value)) return "";
  for (const field of fields) {
    const found = string(value[field]);
    if (found !== "") return found;
  }
  return "";
}

/** Who did it: the person's subject, else what kind of actor it was. */
export function actorName(actor: ThreadEvent["actor"]): string {
  if (!actor) return "treadle";
  if (actor.kind === "fsm_engine") return "treadle";
  // An agent is known by its session, whose id says nothing to a reader.
  if (actor.kind === "agent") return "the agent";
  return actor.subject || (actor.kind === "service" ? "runner" : (actor.kind ?? "somebody"));
}
