// A provider without a network, for tests and demos: `faux` answers at once, `faux-slow` at some 100 tokens a second.
// A prompt that is a JSON array is its script: each entry is one message of the model
// {think?, text?, tools?: [{id, name, arguments}], stop?, error?, wait_ms?}; any other prompt is answered with its words.
import { fauxAssistantMessage, fauxText, fauxThinking, fauxToolCall, registerFauxProvider } from "@mariozechner/pi-ai";

const SPEEDS = { faux: undefined, "faux-slow": 100 };
const MODEL = { id: "faux-1", name: "Faux", reasoning: true, input: ["text"], contextWindow: 1_000_000, maxTokens: 1_000_000 };
const COST = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
const ECHOES = 32;

function message(entry) {
  const content = [];
  if (entry.think) content.push(fauxThinking(entry.think));
  if (entry.text) content.push(fauxText(entry.text));
  for (const tool of entry.tools ?? []) content.push(fauxToolCall(tool.name, tool.arguments ?? {}, { id: tool.id }));
  const stop = entry.error ? "error" : (entry.stop ?? (entry.tools ? "toolUse" : "stop"));
  return fauxAssistantMessage(content, { stopReason: stop, errorMessage: entry.error });
}

async function said(entry) {
  if (entry.wait_ms) await new Promise((resolve) => setTimeout(resolve, entry.wait_ms));
  return message(entry);
}

function echo(context) {
  const last = context.messages.filter((entry) => entry.role === "user").at(-1);
  const words = typeof last?.content === "string" ? last.content : (last?.content ?? []).map((part) => part.text ?? "").join("");
  return message({ think: "Thinking about it.", text: `You said: ${words}` });
}

function script(text) {
  try {
    const entries = JSON.parse(text.split("\n\n<treadle-context>")[0]);
    return Array.isArray(entries) ? entries : [];
  } catch {
    return [];
  }
}

export default function (pi) {
  const registered = Object.entries(SPEEDS).map(([name, tokensPerSecond]) => {
    const faux = registerFauxProvider({ api: `${name}-api`, provider: name, models: [MODEL], tokensPerSecond });
    pi.registerProvider(name, {
      baseUrl: "http://localhost:0",
      apiKey: "none",
      api: `${name}-api`,
      models: [{ ...MODEL, cost: COST }],
    });
    return faux;
  });
  pi.on("input", (event) => {
    if (event.streamingBehavior === undefined || !event.streamingBehavior) {
      const steps = [...script(event.text).map((entry) => () => said(entry)), ...Array(ECHOES).fill(echo)];
      for (const faux of registered) faux.setResponses(steps);
    }
    return { action: "continue" };
  });
  pi.registerTool({
    name: "ask_person",
    label: "Ask",
    description: "Ask the person a question.",
    parameters: { type: "object", properties: { method: { type: "string" }, title: { type: "string" } }, additionalProperties: true },
    async execute(_id, params, _signal, _update, ctx) {
      const options = params.timeout ? { timeout: params.timeout } : undefined;
      const answer =
        params.method === "confirm" ? await ctx.ui.confirm(params.title, params.message ?? "", options)
        : params.method === "input" ? await ctx.ui.input(params.title, params.placeholder, options)
        : await ctx.ui.select(params.title, params.options ?? ["Approve", "Reject"], options);
      return { content: [{ type: "text", text: String(answer) }], details: {} };
    },
  });
  pi.registerTool({
    name: "die",
    label: "Die",
    description: "End the process.",
    parameters: { type: "object", properties: { code: { type: "number" } } },
    async execute(_id, params) {
      process.exit(params.code ?? 7);
    },
  });
}
