// The gateway's tools for Pi: asked for once at the start, called over stateless MCP (JSON-RPC by HTTP), with the
// session's own token. The token leaves the environment here, so that no command of the agent inherits it.
const VERSION = "2025-06-18";
const LIST_MS = 10_000;
const CALL_MS = 60_000;
const TRIES = 6;
const PAGES = 20;

const gateway = (process.env.TREADLE_GATEWAY_URL ?? "").replace(/\/+$/, "");
const token = process.env.TREADLE_TOKEN ?? "";
delete process.env.TREADLE_TOKEN;

let calls = 0;

// The answer as JSON, or the first answer of an event stream.
async function answerOf(response) {
  const text = await response.text();
  if (!(response.headers.get("content-type") ?? "").startsWith("text/event-stream")) return JSON.parse(text);
  for (const block of text.split(/\r?\n\r?\n/)) {
    const data = block.split(/\r?\n/).filter((line) => line.startsWith("data:")).map((line) => line.slice(5).trimStart()).join("\n");
    if (data && JSON.parse(data).id !== undefined) return JSON.parse(data);
  }
  throw new Error("the stream ended without an answer");
}

async function ask(method, params, milliseconds, signal) {
  const limit = AbortSignal.timeout(milliseconds);
  const response = await fetch(`${gateway}/mcp`, {
    method: "POST",
    signal: signal ? AbortSignal.any([signal, limit]) : limit,
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": VERSION,
      ...(token ? { authorization: `Bearer ${token}` } : {}),
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: ++calls, method, params }),
  });
  const answer = await answerOf(response);
  if (answer.error) throw Object.assign(new Error(answer.error.message ?? "refused"), { refused: true });
  if (!response.ok) throw new Error(`status ${response.status}`);
  return answer.result;
}

// Asked again while the gateway is away, where a repeat does no harm.
async function persist(method, params, milliseconds, signal, repeatable) {
  for (let number = 1; ; number += 1) {
    try {
      return await ask(method, params, milliseconds, signal);
    } catch (fault) {
      if (fault.refused || !repeatable || signal?.aborted || fault.name === "TimeoutError" || number >= TRIES) throw fault;
      await new Promise((resolve) => setTimeout(resolve, 100 * 2 ** (number - 1)));
    }
  }
}

async function listed() {
  const tools = [];
  let cursor;
  for (let page = 0; page < PAGES; page += 1) {
    const result = await persist("tools/list", cursor ? { cursor } : {}, LIST_MS, undefined, true);
    tools.push(...result.tools);
    if (!(cursor = result.nextCursor)) break;
  }
  return tools;
}

function words(result) {
  return (result.content ?? []).filter((part) => part.type === "text").map((part) => part.text).join("\n\n");
}

async function called(tool, params, signal) {
  const keyed = "request_id" in (tool.inputSchema?.properties ?? {});
  const given = keyed && !params.request_id ? { ...params, request_id: `pi-${crypto.randomUUID()}` } : params;
  const waits = typeof params.timeout_seconds === "number" ? params.timeout_seconds * 1000 : 0;
  const repeatable = keyed || tool.annotations?.readOnlyHint === true;
  return await persist("tools/call", { name: tool.name, arguments: given }, CALL_MS + waits, signal, repeatable);
}

export default async function (pi) {
  if (!gateway) return;
  let tools = [];
  try {
    tools = await listed();
  } catch (fault) {
    console.error(`treadle: no tools: ${fault.name}`);
  }
  for (const tool of tools) {
    pi.registerTool({
      name: tool.name,
      label: tool.title ?? tool.name,
      description: tool.description ?? "",
      parameters: tool.inputSchema,
      async execute(_id, params, signal) {
        const result = await called(tool, params ?? {}, signal);
        // Pi marks a call as failed when it throws; the refusal's own words are what the model is told.
        if (result.isError) throw new Error(words(result));
        return { content: [{ type: "text", text: words(result) }], details: {} };
      },
    });
  }
}
