// The gateway's tools for Pi: asked for once at the start, called over stateless MCP (JSON-RPC by HTTP), with the
// session's own token. The token leaves the environment here, so that no command of the agent inherits it; a newer one
// comes by the command `/treadle-token`. Every prompt begins with a line that names its turn (launch.py writes it).
import http from "node:http";
import https from "node:https";

const VERSION = "2025-06-18";
const LIST_MS = 30_000;
const CALL_MS = 30_000;
const WAIT_SECONDS = 60;
const TRIES = 6;
const PAGES = 20;
const TURN = /^treadle:turn ([^\n]*)\n/;
// The way broke, or the other side did; other codes of JSON-RPC refuse the call.
const BROKEN = new Set([-32000, -32001, -32603, -32700]);

const gateway = (process.env.TREADLE_GATEWAY_URL ?? "").replace(/\/+$/, "");
let token = process.env.TREADLE_TOKEN ?? "";
let turn = "";
delete process.env.TREADLE_TOKEN;

let calls = 0;

// By node's own client: fetch gives up an answer that takes five minutes, which is how long a tool may wait.
function post(body, signal) {
  const url = new URL(`${gateway}/mcp`);
  const headers = {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": VERSION,
    ...(token ? { authorization: `Bearer ${token}` } : {}),
  };
  return new Promise((resolve, reject) => {
    const request = (url.protocol === "https:" ? https : http).request(url, { method: "POST", headers, signal });
    request.on("error", reject);
    request.on("response", async (response) => {
      try {
        const pieces = [];
        for await (const piece of response) pieces.push(piece);
        const text = Buffer.concat(pieces).toString("utf8");
        resolve({ status: response.statusCode, type: response.headers["content-type"] ?? "", text });
      } catch (fault) {
        reject(fault);
      }
    });
    request.end(body);
  });
}

// The answer as JSON, or the first answer of an event stream.
function answerOf({ type, text }) {
  if (!type.startsWith("text/event-stream")) return JSON.parse(text);
  for (const block of text.split(/\r?\n\r?\n/)) {
    const data = block.split(/\r?\n/).filter((line) => line.startsWith("data:")).map((line) => line.slice(5).trimStart()).join("\n");
    if (data && JSON.parse(data).id !== undefined) return JSON.parse(data);
  }
  throw new Error("the stream ended without an answer");
}

async function ask(method, params, signal) {
  const response = await post(JSON.stringify({ jsonrpc: "2.0", id: ++calls, method, params }), signal);
  const answer = answerOf(response);
  if (answer.error) {
    throw Object.assign(new Error(answer.error.message ?? "refused"), { refused: !BROKEN.has(answer.error.code) });
  }
  if (answer.result === undefined) throw new Error(`status ${response.status}`);
  return answer.result;
}

function isRetryable(result) {
  return result.isError === true && result.structuredContent?.error?.retryable === true;
}

// Asked again while the gateway, or the service behind the tool, is away: where nobody was there to hear it always, else
// where a repeat does no harm. All tries share the time.
async function persist(method, params, milliseconds, given, repeatable) {
  const limit = AbortSignal.timeout(milliseconds);
  const signal = given ? AbortSignal.any([given, limit]) : limit;
  for (let number = 1; ; number += 1) {
    const last = number >= TRIES;
    try {
      const result = await ask(method, params, signal);
      if (last || !repeatable || !isRetryable(result)) return result;
    } catch (fault) {
      if (limit.aborted && !given?.aborted) throw new Error("the gateway did not answer in time");
      const unheard = fault.code === "ECONNREFUSED";
      if (fault.refused || signal.aborted || last || !(repeatable || unheard)) throw fault;
    }
    await new Promise((resolve) => setTimeout(resolve, 100 * 2 ** (number - 1)));
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

// With a key of ours where the tool takes one and the model gave none, and with the turn where the tool changes
// something and takes it, whatever the model has put there: what comes after the turn's end is refused.
async function called(tool, params, signal) {
  const takes = tool.inputSchema?.properties ?? {};
  const reads = tool.annotations?.readOnlyHint === true;
  const given = { ...params };
  if (turn && "turn_id" in takes && !reads) given.turn_id = turn;
  if ("request_id" in takes && !given.request_id) given.request_id = `pi-${crypto.randomUUID()}`;
  const waits = [given.timeout_seconds, given.timeout_s].find((told) => typeof told === "number" && told > 0);
  const milliseconds = CALL_MS + (waits ?? WAIT_SECONDS) * 1000;
  const repeatable = reads || "request_id" in takes;
  return await persist("tools/call", { name: tool.name, arguments: given }, milliseconds, signal, repeatable);
}

export default async function (pi) {
  if (!gateway) return;
  pi.on("input", (event) => {
    const named = TURN.exec(event.text);
    if (!named) return { action: "continue" };
    turn = named[1];
    return { action: "transform", text: event.text.slice(named[0].length) };
  });
  pi.registerCommand("treadle-token", {
    description: "A newer token for the gateway's tools.",
    async handler(given) {
      if (given.trim()) token = given.trim();
    },
  });
  let tools = [];
  try {
    tools = await listed();
  } catch (fault) {
    console.error(`treadle: no tools: ${fault.code ?? fault.name}`);
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
