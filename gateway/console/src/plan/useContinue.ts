// "Continue from here": a branch of a session after one of its turns, opened as soon as it is asked for.
import { useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { newKey } from "../api/http";
import { sessionKeys } from "../session/api";
import { sessionUrl } from "../sessions/path";
import { go } from "../shell/router";
import { branch } from "./api";
import { planKeys } from "./keys";

export function useContinue() {
  const client = useQueryClient();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<Error>();
  const gesture = useRef({ of: "", key: "" });
  const from = async (session: string, turn: number): Promise<void> => {
    if (busy) return;
    // A press that is repeated after a failure is the same one: it makes no second branch.
    const of = `${session}/${String(turn)}`;
    if (gesture.current.of !== of) gesture.current = { of, key: newKey() };
    setBusy(true);
    setError(undefined);
    try {
      const made = await branch(session, turn, true, gesture.current.key);
      gesture.current = { of: "", key: "" };
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
