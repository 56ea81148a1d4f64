// Actions that can be picked for a column, and the parameters that a person has to give for one. Pure.
import type { ActionOption, ActionParameter, Json, JsonObject } from "../api/types";
import { parseJson, type Parsed } from "../thread/parameters";

/** Those that are about a whole group. */
export function perGroup(options: readonly ActionOption[]): ActionOption[] {
  return options.filter((option) => (option.cardinality || "per_group") === "per_group");
}

/** Required parameters without a default. */
export function missing(option: ActionOption): ActionParameter[] {
  const given = option.default_params ?? {};
  return (option.parameters ?? []).filter((parameter) => parameter.required && !(parameter.name in given));
}

/** What was typed, in the parameter's type. */
export function valueOf(parameter: ActionParameter, text: string): Parsed {
  switch (parameter.type) {
    case "integer":
    case "number": {
      const value = Number(text);
      const good = text.trim() !== "" && Number.isFinite(value);
      return good ? { ok: true, value } : { ok: false, error: "Not a number" };
    }
    case "boolean":
      return { ok: true, value: text === "true" };
    case "array":
    case "object":
      return parseJson(text);
    default:
      return { ok: true, value: text };
  }
}

export type Filled = { ok: true; parameters: JsonObject } | { ok: false; errors: Record<string, string> };

/** Defaults and what was typed; an optional one that was left empty is left out. */
export function filled(option: ActionOption, texts: Readonly<Record<string, string>>): Filled {
  const parameters: Record<string, Json> = { ...option.default_params };
  const errors: Record<string, string> = {};
  for (const parameter of option.parameters ?? []) {
    const text = texts[parameter.name] ?? "";
    if (text === "") {
      if (parameter.required && !(parameter.name in parameters)) errors[parameter.name] = "Needed";
      continue;
    }
    const parsed = valueOf(parameter, text);
    if (parsed.ok) parameters[parameter.name] = parsed.value;
    else errors[parameter.name] = parsed.error;
  }
  return Object.keys(errors).length > 0 ? { ok: false, errors } : { ok: true, parameters };
}
