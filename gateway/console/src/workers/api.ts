// Workers over /api: reads as queries, commands as calls. Nothing polls; the tenant's feed says what is stale.
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { newKey, Problem, request } from "../api/http";
import { sessionPath } from "../session/api";
import { workerKeys } from "./keys";
import type { Collected, Injection, Note, Policy, Roster, Worker, WorkerStatus } from "./types";

/** A coordinator may have a thousand workers; they are read whole. */
const MOST_PAGES = 10;

/** The session's record as a coordinator; null: it has none. */
export function useRoster(session: string) {
  return useQuery({
    queryKey: workerKeys.roster(session),
    queryFn: async ({ signal }) => {
      const path = `/api/coordination/roster?coordinator_session_id=${encodeURIComponent(session)}`;
      try {
        const roster = await request<Roster & { next_page_token?: string }>(path, { signal });
        const threads = [...roster.threads];
        let token = roster.next_page_token ?? "";
        for (let page = 1; token !== "" && page < MOST_PAGES; page += 1) {
          const more = await request<{ threads?: Worker[]; next_page_token?: string }>(
            `${path}&page_token=${encodeURIComponent(token)}`,
            { signal },
          );
          threads.push(...(more.threads ?? []));
          token = more.next_page_token ?? "";
        }
        return { ...roster, threads };
      } catch (error) {
        if (error instanceof Problem && error.reason.endsWith("COORDINATOR_NOT_FOUND")) return null;
        throw error;
      }
    },
  });
}

/** Whose worker this session is; null: nobody's. */
export function useAssignment(session: string) {
  return useQuery({
    queryKey: workerKeys.assignment(session),
    queryFn: async ({ signal }) => {
      const answer = await request<{ assignment?: Worker }>(`${sessionPath(session)}/workers?page_size=1`, {
        signal,
      });
      return answer.assignment ?? null;
    },
  });
}

/** All notes of a list: a worker's, or with an empty name the coordinator's own. */
export function useNotes(session: string, name: string, enabled: boolean) {
  return useQuery({
    queryKey: workerKeys.notes(session, name),
    queryFn: async ({ signal }) => {
      const of = name === "" ? "" : `?thread_name=${encodeURIComponent(name)}`;
      const page = await request<{ notes?: Note[] }>(`${sessionPath(session)}/notes${of}`, { signal });
      return page.notes ?? [];
    },
    enabled,
  });
}

export function useResult(session: string, { name, result_version }: Worker, full: boolean) {
  return useInfiniteQuery({
    queryKey: workerKeys.result(session, name, result_version, full),
    queryFn: ({ pageParam, signal }) =>
      request<Collected>(`${workerPath(session, name)}/collect`, {
        method: "POST",
        body: {
          version: result_version,
          full_text: full,
          ...(pageParam === "" ? {} : { page_token: pageParam }),
        },
        signal,
      }),
    initialPageParam: "",
    getNextPageParam: (page) => page.next_page_token || undefined,
    staleTime: Infinity,
  });
}

/** What was injected at that turn; null: nothing was. */
export function useInjection(session: string, turn: string) {
  return useQuery({
    queryKey: workerKeys.injection(session, turn),
    queryFn: async ({ signal }) => {
      const path = `${sessionPath(session)}/context?turn_id=${encodeURIComponent(turn)}`;
      try {
        return await request<Injection>(path, { signal });
      } catch (error) {
        if (error instanceof Problem && error.reason.endsWith("INJECTION_NOT_FOUND")) return null;
        throw error;
      }
    },
  });
}

function workerPath(session: string, name: string): string {
  return `${sessionPath(session)}/workers/${encodeURIComponent(name)}`;
}

export function setMode(session: string, enabled: boolean, policy?: Policy): Promise<unknown> {
  const body = { session_id: session, enabled, ...(policy ? { policy } : {}) };
  return request("/api/coordination/flag", { method: "POST", body, key: newKey() });
}

export function addNote(
  session: string,
  name: string,
  note: string,
  key: string,
): Promise<{ note_count: number; evicted_note?: Note }> {
  const body = { note, ...(name === "" ? {} : { thread_name: name }) };
  return request(`${sessionPath(session)}/notes`, { method: "POST", body, key });
}

export function cancelWorker(
  session: string,
  name: string,
  reason: string,
  key: string,
): Promise<{ thread: Worker }> {
  return request(`${workerPath(session, name)}/cancel`, { method: "POST", body: { reason }, key });
}

export function markWorker(session: string, name: string, status: WorkerStatus): Promise<Worker> {
  const body = { status };
  return request(`${workerPath(session, name)}/status`, { method: "POST", body, key: newKey() });
}

export function reportResult(session: string, name: string, text: string, key: string): Promise<unknown> {
  return request(`${workerPath(session, name)}/report`, { method: "POST", body: { text, final: true }, key });
}

export interface Registration {
  coordinator_session_id: string;
  name: string;
  worker_session_id: string;
  brief: string;
}

export function registerWorker(body: Registration, key: string): Promise<{ thread: Worker }> {
  return request("/api/coordination/register", { method: "POST", body, key });
}
