// A gate's proposal as its widget needs it, whatever stands in it: one malformed value must not take the page down. Pure.

export interface Option {
  id: string;
  label: string;
}

export interface Join {
  left: string;
  right: string;
  type: string;
  rationale: string;
}

/** A string is a list of one, what is no string in a list is dropped, anything else is none (design/streaming.md D1.6). */
export function openQuestions(value: unknown): string[] {
  const list: readonly unknown[] = typeof value === "string" ? [value] : Array.isArray(value) ? value : [];
  return list.filter(filled);
}

export function choiceOf(proposal: unknown): { question: string; options: Option[]; allowOther: boolean } {
  const body = fields(proposal);
  return {
    question: text(body["question"]) || "Which one?",
    options: list(body["options"]).flatMap(optionOf),
    allowOther: body["allow_other"] === true,
  };
}

export function joinsOf(proposal: unknown): Join[] {
  return list(fields(proposal)["joins"]).map((item) => {
    const join = fields(item);
    return {
      left: text(join["left"]),
      right: text(join["right"]),
      type: text(join["type"]),
      rationale: text(join["rationale"]),
    };
  });
}

export function summaryOf(proposal: unknown): { phase: string; summary: string; questions: string[] } {
  const body = fields(proposal);
  return {
    phase: text(body["phase"]),
    summary: text(body["summary"]),
    questions: openQuestions(body["open_questions"]),
  };
}

export interface DialogProposal {
  method: "select" | "confirm" | "input" | "editor";
  title: string;
  message: string;
  options: Option[];
  placeholder: string;
  prefill: string;
}

export function dialogOf(proposal: unknown): DialogProposal {
  const body = fields(proposal);
  const method = text(body["method"]);
  return {
    method: method === "select" || method === "confirm" || method === "editor" ? method : "input",
    title: text(body["title"]) || "The agent asks",
    message: text(body["message"]),
    options: list(body["options"]).flatMap(optionOf),
    placeholder: text(body["placeholder"]),
    prefill: text(body["prefill"]),
  };
}

function optionOf(value: unknown): Option[] {
  if (filled(value)) return [{ id: value, label: value }];
  const { id, label } = fields(value);
  return filled(id) ? [{ id, label: text(label) || id }] : [];
}

function fields(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function filled(value: unknown): value is string {
  return typeof value === "string" && value.trim() !== "";
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}
