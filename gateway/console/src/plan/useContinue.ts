// "Continue from here": a branch of a session after one of its turns, opened as soon as it is asked for.
import { useQueryClient, type InfiniteData, type QueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { newKey } from "../api/http";
import { sessionKeys, type Session } from "../session/api";
import { sessionUrl } from "../sessions/path";
import { go } from "../shell/router";
import { branch } from "./api";
import { planKeys } from "./keys";
import { branchTitle } from "./names";

export function useContinue() {
  const client = useQueryClient();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<Error>();
  const gesture = useRef({ of: "", key: "", title: "" });
  const from = async (session: string, turn: number): Promise<void> => {
    if (busy) return;
    // A press that is repeated after a failure is the same one: it makes no second branch.
    const of = `${session}/${String(turn)}`;
    if (gesture.current.of !== of)
      gesture.current = { of, key: newKey(), title: titleFor(client, session, turn) };
    const { key, title } = gesture.current;
    setBusy(true);
    setError(undefined);
    try {
      const made = await branch(session, turn, title, key);
      gesture.current = { of: "", key: "", title: "" };
      void client.invalidateQueries({ queryKey: sessionKeys.list });
      void client.invalidateQueries({ queryKey: planKeys.graphs });
      go(sessionUrl(made.session_id));
    } catch (problem) {
      setError(problem as Error);
    } finally {
      setBusy(false);
    }
  };
  return { busy, error, from };
}

/** Unlike the titles of the sessions that are known here. */
function titleFor(client: QueryClient, session: string, turn: number): string {
  const lists = client.getQueriesData<InfiniteData<{ sessions?: Session[] }>>({ queryKey: sessionKeys.list });
  const known = lists.flatMap(([, list]) => list?.pages.flatMap((page) => page.sessions ?? []) ?? []);
  const origin =
    client.getQueryData<Session>(sessionKeys.one(session)) ?? known.find(({ id }) => id === session);
  return branchTitle(origin?.title ?? "", turn, new Set(known.map(({ title }) => title)));
}
