// Sessions over /api: reads as queries, decisions as calls. Nothing polls; the feed and the session's own stream say
// what is stale.
import { useInfiniteQuery, useQueries, useQuery } from "@tanstack/react-query";
import { newKey, request } from "../api/http";
import type { DeleteResult } from "../sessions/desk";
import type { TurnState } from "./events";
import { titleOf } from "./title";

/** The fields of treadle.streaming.v1.Session that the console uses. */
export interface Session {
  id: string;
  state: TurnState;
  title: string;
  adapter: string;
  provider: string;
  model: string;
  thinking: string;
  agent: "none" | "starting" | "live";
  turn_id: string;
  forked_from?: string;
  fork_turn?: number;
  /** The session that this one works for, `sessions/{id}`. */
  coordinator?: string;
  /** It is being made out of another one. */
  forking?: boolean;
  create_time: string;
  update_time: string;
}

export interface Message {
  sequence: number;
  turn_id: string;
  role: "user" | "assistant";
  text: string;
  partial: boolean;
  /** The turn's number. */
  turn?: number;
  create_time: string;
}

export interface Gate {
  id: string;
  kind: string;
  state: string;
  proposal?: unknown;
}

export const sessionKeys = {
  list: ["sessions"] as const,
  one: (id: string) => ["session", id] as const,
  messages: (id: string) => ["session-messages", id] as const,
  gates: (id: string) => ["session-gates", id] as const,
};

export function sessionPath(id: string): string {
  return `/api/sessions/${encodeURIComponent(id)}`;
}

/** Newest first; `all`: with those that work for another one. */
export function useSessions(all = true) {
  return useInfiniteQuery({
    queryKey: [...sessionKeys.list, all],
    queryFn: ({ pageParam, signal }) =>
      request<{ sessions?: Session[]; next_page_token?: string }>(
        `/api/sessions?page_size=100${all ? "" : "&top_level=true"}${pageParam === "" ? "" : `&page_token=${encodeURIComponent(pageParam)}`}`,
        { signal },
      ),
    initialPageParam: "",
    getNextPageParam: (page) => page.next_page_token || undefined,
  });
}

export function useSession(id: string, enabled = true) {
  return useQuery({
    queryKey: sessionKeys.one(id),
    queryFn: ({ signal }) => request<Session>(sessionPath(id), { signal }),
    enabled,
  });
}

/** Titles of these sessions, as far as they are known by now. */
export function useSessionsOf(ids: readonly string[]): Map<string, string> {
  return useQueries({
    queries: ids.map((id) => ({
      queryKey: sessionKeys.one(id),
      queryFn: ({ signal }: { signal: AbortSignal }) => request<Session>(sessionPath(id), { signal }),
    })),
    combine: (answers) =>
      new Map(answers.flatMap(({ data }) => (data ? [[data.id, titleOf(data)] as const] : []))),
  });
}

/** A longer conversation is shown from its start up to here. */
const MOST_PAGES = 20;

export function useMessages(id: string) {
  return useQuery({
    queryKey: sessionKeys.messages(id),
    queryFn: async ({ signal }) => {
      const messages: Message[] = [];
      let token = "";
      for (let page = 0; page < MOST_PAGES; page += 1) {
        const more = token === "" ? "" : `&page_token=${encodeURIComponent(token)}`;
        const answer = await request<{ messages?: Message[]; next_page_token?: string }>(
          `${sessionPath(id)}/messages?page_size=200${more}`,
          { signal },
        );
        messages.push(...(answer.messages ?? []));
        token = answer.next_page_token ?? "";
        if (token === "") break;
      }
      return messages;
    },
  });
}

/** What the agent answered last, whole; empty where it has not answered. */
export async function lastAnswer(id: string): Promise<string> {
  let found = "";
  let token = "";
  do {
    const more: string = token === "" ? "" : `&page_token=${encodeURIComponent(token)}`;
    const page: { messages?: Message[]; next_page_token?: string } = await request(
      `${sessionPath(id)}/messages?page_size=200${more}`,
    );
    found = page.messages?.findLast(({ role }) => role === "assistant")?.text ?? found;
    token = page.next_page_token ?? "";
  } while (token !== "");
  return found;
}

export function useOpenGates(id: string) {
  return useQuery({
    queryKey: sessionKeys.gates(id),
    queryFn: async ({ signal }) => {
      const page = await request<{ gates?: Gate[] }>(`${sessionPath(id)}/gates?state=open`, { signal });
      return page.gates ?? [];
    },
  });
}

export interface NewSession {
  title: string;
  adapter: string;
  provider: string;
  model: string;
  thinking: string;
  /** The session that it works for, `sessions/{id}`. */
  coordinator?: string;
}

export function createSession(body: NewSession, key: string): Promise<Session> {
  return request<Session>("/api/sessions", { method: "POST", body, key });
}

export function say(id: string, verb: "prompt" | "steer", text: string, key: string): Promise<unknown> {
  return request(`${sessionPath(id)}/${verb}`, { method: "POST", body: { text }, key });
}

export function abort(id: string): Promise<unknown> {
  return request(`${sessionPath(id)}/abort`, { method: "POST", body: {}, key: newKey() });
}

export function resume(id: string, key: string): Promise<{ preserved: boolean }> {
  return request(`${sessionPath(id)}/resume`, { method: "POST", body: {}, key });
}

export interface Answer {
  value?: string;
  text?: string;
  confirmed?: boolean;
  cancelled?: boolean;
}

export function answerGate(id: string, gate: string, answer: Answer, key: string): Promise<unknown> {
  const path = `${sessionPath(id)}/gates/${encodeURIComponent(gate)}/answer`;
  return request(path, { method: "POST", body: answer, key });
}

/** The service takes so many ids a call. */
const MOST_IDS = 200;

export async function deleteSessions(ids: readonly string[]): Promise<DeleteResult[]> {
  const results: DeleteResult[] = [];
  for (let from = 0; from < ids.length; from += MOST_IDS) {
    const answer = await request<{ results?: DeleteResult[] }>("/api/sessions/batch_delete", {
      method: "POST",
      body: { ids: ids.slice(from, from + MOST_IDS) },
      key: newKey(),
    });
    results.push(...(answer.results ?? []));
  }
  return results;
}
