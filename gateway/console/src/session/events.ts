// From an SSE frame to a typed event, field by field: what is malformed is left empty, never thrown. Pure.
import type { SessionEventName } from "../gen/events";
import type { Place } from "./place";

export type TurnState = "idle" | "running" | "waiting" | "failed";

export type StreamEvent = { place: Place | undefined } & (
  | { name: "turn"; state: TurnState; turnId: string; outcome: string; code: string }
  | { name: "prompt"; text: string }
  | { name: "activity_delta" | "text_delta"; delta: string; block: number }
  | { name: "text_reset"; blocks: readonly number[] }
  | { name: "tool"; callId: string; tool: string; status: string }
  | { name: "gate"; gateId: string; kind: string; state: string; proposal: unknown }
  | { name: "status"; code: string; text: string }
  | {
      name: "worker_result";
      worker: string;
      status: string;
      reason: string;
      hasResult: boolean;
      partial: boolean;
      late: boolean;
    }
  | { name: "reset"; reason: string }
  | { name: "deleted" }
);

const STATES: readonly string[] = ["idle", "running", "waiting", "failed"];

export function readEvent(
  name: SessionEventName,
  data: string,
  place: Place | undefined,
): StreamEvent | undefined {
  const body = objectOf(data);
  if (!body) return undefined;
  switch (name) {
    case "turn": {
      const state = text(body["state"]);
      if (!STATES.includes(state)) return undefined;
      return {
        name,
        place,
        state: state as TurnState,
        turnId: text(body["turn_id"]),
        outcome: text(body["outcome"]),
        code: text(body["code"]),
      };
    }
    case "prompt":
      return { name, place, text: text(body["text"]) };
    case "activity_delta":
    case "text_delta":
      return { name, place, delta: text(body["delta"]), block: number(body["block"]) };
    case "text_reset": {
      const blocks: unknown = body["blocks"];
      return { name, place, blocks: Array.isArray(blocks) ? blocks.map(number) : [] };
    }
    case "tool":
      return {
        name,
        place,
        callId: text(body["call_id"]),
        tool: text(body["name"]) || "tool",
        status: text(body["status"]),
      };
    case "gate":
      return {
        name,
        place,
        gateId: text(body["gate_id"]),
        kind: text(body["kind"]),
        state: text(body["state"]),
        proposal: body["proposal"],
      };
    case "status":
      return { name, place, code: text(body["code"]), text: text(body["text"]) };
    case "worker_result":
      return {
        name,
        place,
        worker: text(body["name"]),
        status: text(body["status"]),
        reason: text(body["reason"]),
        hasResult: body["has_result"] === true,
        partial: body["partial"] === true,
        late: body["late"] === true,
      };
    case "reset":
      return { name, place, reason: text(body["reason"]) };
    case "deleted":
      return { name, place };
  }
}

function objectOf(data: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(data);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function number(value: unknown): number {
  return typeof value === "number" ? value : 0;
}
