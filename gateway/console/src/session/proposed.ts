// What agents proposed in a session, and what of another session was open at a moment. The keys begin as those of
// threads and rosters do, so that the feed's events make them stale (live/touched.ts, workers/touched.ts).
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { request } from "../api/http";
import { keys } from "../api/queries";
import type { Thread } from "../api/types";
import type { ThreadState } from "../gen/events";
import { workerKeys } from "../workers/keys";
import type { Worker } from "../workers/types";
import { sessionPath, type Session } from "./api";
import { originOf, turnAfter, type OriginTurn } from "./origin";

/** The fields of treadle.threads.v1.SessionProposal that the console uses. */
export interface SessionProposal {
  thread_id: string;
  title: string;
  state: ThreadState;
  capability_name?: string;
  create_time: string;
}

const MOST_PAGES = 10;

export function useProposals(session: string) {
  return useInfiniteQuery({
    queryKey: [...keys.threads, "proposed-in", session],
    queryFn: ({ pageParam, signal }) =>
      request<{ proposals?: SessionProposal[]; next_page_token?: string }>(
        `${sessionPath(session)}/proposals?page_size=50${pageParam === "" ? "" : `&page_token=${encodeURIComponent(pageParam)}`}`,
        { signal },
      ),
    initialPageParam: "",
    getNextPageParam: (page) => page.next_page_token || undefined,
  });
}

/** When what a branch was made of ended: its origin's next turn, or the branch itself. It never changes. */
function useForkTime(session: Session) {
  const origin = originOf(session);
  return useQuery({
    queryKey: ["fork-time", session.id],
    queryFn: async ({ signal }) => {
      const turns: OriginTurn[] = [];
      let token = "";
      for (let page = 0; page < MOST_PAGES; page += 1) {
        const more = token === "" ? "" : `&page_token=${encodeURIComponent(token)}`;
        const answer = await request<{ turns?: OriginTurn[]; next_page_token?: string }>(
          `${sessionPath(origin)}/turns?page_size=200${more}`,
          { signal },
        );
        turns.push(...(answer.turns ?? []));
        token = answer.next_page_token ?? "";
        if (token === "" || turns.some(({ number }) => number > (session.fork_turn ?? 0))) break;
      }
      return turnAfter(session, turns);
    },
    enabled: origin !== "",
    staleTime: Infinity,
    retry: false,
  });
}

/** What was open in the origin of a branch at its turn, as it stands now. Undefined where there is no origin (any more). */
export function useOriginAt(session: Session): { workers: Worker[]; threads: Thread[] } | undefined {
  const origin = originOf(session);
  const time = useForkTime(session).data ?? "";
  const enabled = time !== "";
  const then = `open_at=${encodeURIComponent(time)}&page_size=200`;
  const workers = useQuery({
    queryKey: [...workerKeys.roster(origin), "open-at", time],
    queryFn: ({ signal }) =>
      request<{ threads?: Worker[] }>(`${sessionPath(origin)}/workers?${then}`, { signal }),
    enabled,
  });
  const threads = useQuery({
    queryKey: [...keys.threads, "open-at", origin, time],
    queryFn: ({ signal }) =>
      request<{ threads?: Thread[] }>(`/api/threads?session_id=${encodeURIComponent(origin)}&${then}`, {
        signal,
      }),
    enabled,
  });
  if (!workers.data || !threads.data) return undefined;
  return { workers: workers.data.threads ?? [], threads: threads.data.threads ?? [] };
}
