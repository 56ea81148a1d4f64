// Objective, plan, documents and branches over /api. Nothing polls; the tenant's feed says what is stale.
import { useQuery } from "@tanstack/react-query";
import { newKey, Problem, request } from "../api/http";
import { sessionPath } from "../session/api";
import { planKeys } from "./keys";
import type { Branch, Diff, Doc, Graph, Objective, Plan, PlanContext } from "./types";

export function useObjective(session: string) {
  return useQuery({
    queryKey: planKeys.objective(session),
    queryFn: ({ signal }) => request<Objective>(`${sessionPath(session)}/objective`, { signal }),
  });
}

export function usePlan(session: string) {
  return useQuery({
    queryKey: planKeys.steps(session),
    queryFn: ({ signal }) => request<Plan>(`${sessionPath(session)}/plan`, { signal }),
  });
}

export function useDocuments(session: string) {
  return useQuery({
    queryKey: planKeys.documents(session),
    queryFn: async ({ signal }) => {
      const page = await request<{ documents?: Doc[] }>(`${sessionPath(session)}/documents`, { signal });
      return page.documents ?? [];
    },
  });
}

export function useDocument(session: string, key: string) {
  return useQuery({
    queryKey: planKeys.document(session, key),
    queryFn: ({ signal }) => request<Doc>(documentPath(session, key), { signal }),
    enabled: key !== "",
  });
}

/** What the agent was told of objective and plan in that turn; null: nothing. A branch knows its turns by number. */
export function usePlanContext(session: string, turn: string, number: number | undefined) {
  const named = number ? `turn=${String(number)}` : `turn_id=${encodeURIComponent(turn)}`;
  return useQuery({
    queryKey: planKeys.context(session, named),
    queryFn: async ({ signal }) => {
      try {
        return await request<PlanContext>(`${sessionPath(session)}/plan/context?${named}`, { signal });
      } catch (error) {
        if (error instanceof Problem && error.reason.endsWith("PLAN_CONTEXT_NOT_FOUND")) return null;
        throw error;
      }
    },
  });
}

const MOST_PAGES = 10;

export function useGraph(session: string) {
  return useQuery({
    queryKey: planKeys.graph(session),
    queryFn: async ({ signal }) => {
      const found: Graph = { nodes: [], heads: [] };
      let token = "";
      for (let page = 0; page < MOST_PAGES; page += 1) {
        const more = token === "" ? "" : `&page_token=${encodeURIComponent(token)}`;
        const path = `${sessionPath(session)}/graph?page_size=500${more}`;
        const answer = await request<Partial<Graph> & { next_page_token?: string }>(path, { signal });
        found.nodes.push(...(answer.nodes ?? []));
        if (answer.heads?.length) found.heads = answer.heads;
        token = answer.next_page_token ?? "";
        if (token === "") break;
      }
      return found;
    },
  });
}

export function useDiff(session: string, other: string) {
  return useQuery({
    queryKey: planKeys.diff(session, other),
    queryFn: ({ signal }) =>
      request<Diff>(`${sessionPath(session)}/diff/${encodeURIComponent(other)}`, { signal }),
    enabled: other !== "",
  });
}

export function putObjective(session: string, text: string, etag: string): Promise<Objective> {
  const path = `${sessionPath(session)}/objective`;
  return request(path, { method: "PUT", body: { text }, key: newKey(), etag });
}

/** What is done to a plan; `expected` is the version that was on screen. */
export type PlanCommand =
  | { verb: "add"; body: { items: string[]; parent_index?: number } }
  | { verb: "toggle"; body: { indices: number[]; done: boolean } }
  | { verb: "edit"; body: { edits: { index: number; text: string }[] } }
  | { verb: "remove"; body: { indices: number[] } }
  | { verb: "move"; body: { index: number; after_index?: number; parent_index?: number } }
  | { verb: "order"; body: { step_ids: string[] } };

export function changePlan(session: string, { verb, body }: PlanCommand, expected: number): Promise<Plan> {
  return request(`${sessionPath(session)}/plan/${verb}`, {
    method: verb === "order" ? "PUT" : "POST",
    body: { ...body, expected_version: expected },
    key: newKey(),
  });
}

function documentPath(session: string, key: string): string {
  return `${sessionPath(session)}/documents/${encodeURIComponent(key)}`;
}

export function putDocument(session: string, key: string, content: string, etag: string): Promise<Doc> {
  return request(documentPath(session, key), {
    method: "PUT",
    body: { content },
    key: newKey(),
    ...(etag === "" ? {} : { etag }),
  });
}

export function lockDocument(session: string, key: string, locked: boolean): Promise<Doc> {
  return request(`${documentPath(session, key)}/lock`, { method: "PUT", body: { locked }, key: newKey() });
}

/** A new session that goes on after that turn; `title` empty: the origin's. */
export function branch(session: string, turn: number, title: string, key: string): Promise<Branch> {
  const body = { turn, fork: true, title };
  return request(`${sessionPath(session)}/branches`, { method: "POST", body, key });
}

export interface Pick {
  source: string;
  origin_ids: readonly string[];
  objective: boolean;
  expected_version: number;
  source_version: number;
}

export function cherryPick(session: string, body: Pick): Promise<Plan> {
  return request(`${sessionPath(session)}/cherry_pick`, { method: "POST", body, key: newKey() });
}
