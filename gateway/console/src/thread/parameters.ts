// Editing an action's parameters: which input fits a value, what was changed, and whether it can be sent. Pure.
import type { Json, JsonObject } from "../api/types";

export type FieldKind = "text" | "number" | "boolean" | "json";

export function kindOf(value: Json): FieldKind {
  if (typeof value === "string") return "text";
  if (typeof value === "number") return "number";
  if (typeof value === "boolean") return "boolean";
  return "json";
}

/** A value as the text of its input. */
export function draftOf(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

export type Draft = Readonly<Record<string, string>>;

export function draftsOf(parameters: JsonObject): Draft {
  return Object.fromEntries(Object.entries(parameters).map(([name, value]) => [name, draftOf(value)]));
}

export type Parsed = { ok: true; value: Json } | { ok: false; error: string };

/** Reads an input's text back, in the type that the value had. */
export function parseDraft(kind: FieldKind, text: string): Parsed {
  switch (kind) {
    case "text":
      return { ok: true, value: text };
    case "number": {
      const value = Number(text);
      const good = text.trim() !== "" && Number.isFinite(value);
      return good ? { ok: true, value } : { ok: false, error: "Not a number" };
    }
    case "boolean":
      return { ok: true, value: text === "true" };
    case "json":
      return parseJson(text);
  }
}

export function parseJson(text: string): Parsed {
  try {
    return { ok: true, value: JSON.parse(text) as Json };
  } catch {
    return { ok: false, error: "Not valid JSON" };
  }
}

export function parseObject(text: string): { ok: true; value: JsonObject } | { ok: false; error: string } {
  const parsed = parseJson(text);
  if (!parsed.ok) return parsed;
  if (typeof parsed.value !== "object" || parsed.value === null || Array.isArray(parsed.value)) {
    return { ok: false, error: "Parameters are a JSON object" };
  }
  return { ok: true, value: parsed.value };
}

export interface Changes {
  changed: JsonObject;
  errors: Readonly<Record<string, string>>;
}

/** Only the parameters whose value differs from the proposal's; unreadable ones are errors. */
export function changesOf(parameters: JsonObject, drafts: Draft): Changes {
  const changed: JsonObject = {};
  const errors: Record<string, string> = {};
  for (const [name, value] of Object.entries(parameters)) {
    const parsed = parseDraft(kindOf(value), drafts[name] ?? draftOf(value));
    if (!parsed.ok) errors[name] = parsed.error;
    else if (JSON.stringify(parsed.value) !== JSON.stringify(value)) changed[name] = parsed.value;
  }
  return { changed, errors };
}
