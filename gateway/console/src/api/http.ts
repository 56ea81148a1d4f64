// One way to call the gateway: JSON in, JSON or a Problem out. Knows RFC 9457 documents, and nothing of threads.
import { tell } from "./signals";

/** What the gateway (or the network: status 0) said no with. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly title: string,
    readonly detail: string,
    readonly reason: string,
    readonly metadata: Readonly<Record<string, string>>,
    readonly state: string | undefined,
  ) {
    super(detail || title);
    this.name = "Problem";
  }

  /** The same request, with the same key, may be sent again: it was put off, or its fate is not known. */
  get retryable(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }

  /** Somebody else was first, or the matter moved on. */
  get conflict(): boolean {
    return this.status === 409 || this.status === 412;
  }
}

const TIMEOUT_MS = 20_000;

interface Call {
  method?: "GET" | "POST" | "PUT" | "DELETE";
  body?: unknown;
  /** Idempotency-Key: one for each gesture of the person, the same on every retry of it. */
  key?: string;
  /** If-Match: refused with 412 where what is changed is not what was seen. */
  etag?: string;
  signal?: AbortSignal;
  /** Asked by somebody who is not known yet: a 401 is the answer, and no news. */
  stranger?: boolean;
}

export async function request<T>(path: string, call: Call = {}): Promise<T> {
  const headers: Record<string, string> = { Accept: "application/json" };
  if (call.body !== undefined) headers["Content-Type"] = "application/json";
  if (call.key !== undefined) headers["Idempotency-Key"] = call.key;
  if (call.etag !== undefined) headers["If-Match"] = call.etag;
  const deadline = AbortSignal.timeout(TIMEOUT_MS);
  const init: RequestInit = {
    method: call.method ?? "GET",
    headers,
    signal: call.signal ? AbortSignal.any([call.signal, deadline]) : deadline,
  };
  if (call.body !== undefined) init.body = JSON.stringify(call.body);

  let response: Response;
  try {
    response = await fetch(path, init);
  } catch (error) {
    if (call.signal?.aborted) throw error;
    tell("unanswered");
    throw new Problem(
      0,
      "No answer",
      "Treadle did not answer. Nothing is known to have changed.",
      "",
      {},
      undefined,
    );
  }
  const text = await response.text();
  if (response.status === 401 && !call.stranger) tell("unknown");
  if (!response.ok) throw problemOf(response.status, response.statusText, text);
  return (text === "" ? {} : JSON.parse(text)) as T;
}

/** Reads a problem document; what is missing or malformed in it is left empty, never thrown. */
export function problemOf(status: number, statusText: string, body: string): Problem {
  const document = parsed(body);
  const metadata = document["metadata"];
  const entries = typeof metadata === "object" && metadata !== null ? Object.entries(metadata) : [];
  const data = Object.fromEntries(
    entries.filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );
  return new Problem(
    status,
    text(document["title"]) || statusText || `Status ${status}`,
    text(document["detail"]),
    text(document["reason"]),
    data,
    text(document["state"]) || data["state"],
  );
}

function parsed(body: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** A fresh idempotency key. `randomUUID` exists in secure contexts only; a plain-http host still gets 128 random bits. */
export function newKey(): string {
  if ("randomUUID" in crypto) return crypto.randomUUID();
  const bytes = (crypto as Crypto).getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
