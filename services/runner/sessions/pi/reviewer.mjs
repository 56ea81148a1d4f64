// The tool `reviewer_decide`: the agent asks the reviewer of its session and waits (design/streaming.md S.6).
// It is a dialog whose title names the kind and whose prefill is the proposal (dialogs.py knows both).
const TITLE = "treadle.reviewer_decide:";
const KINDS = ["choice", "join-review", "phase-summary"];

function told(answer) {
  if (answer === undefined) return "The reviewer gave no answer: the question was withdrawn.";
  const reply = JSON.parse(answer);
  if (reply.state === "refused") return `The proposal was refused: ${reply.text}. Propose again.`;
  if (reply.state !== "answered") return `The reviewer gave no answer: ${reply.state}.`;
  if (reply.value === "other") return `Other: ${reply.text}\nPropose the complete corrected set again.`;
  return `The reviewer said: ${reply.value}`;
}

export default function (pi) {
  pi.registerTool({
    name: "reviewer_decide",
    label: "Reviewer decides",
    description:
      "Ask the reviewer and wait for the decision. choice {question, options: [{id, label}], allow_other}; " +
      "join-review {joins: [{left, right, type, rationale?}]}, always the complete set; " +
      "phase-summary {version: 2, phase, summary, open_questions?}.",
    parameters: {
      type: "object",
      properties: { kind: { type: "string", enum: KINDS }, proposal: { type: "object", additionalProperties: true } },
      required: ["kind", "proposal"],
    },
    async execute(_id, params, _signal, _update, ctx) {
      const answer = await ctx.ui.editor(TITLE + params.kind, JSON.stringify(params.proposal));
      return { content: [{ type: "text", text: told(answer) }], details: {} };
    },
  });
}
