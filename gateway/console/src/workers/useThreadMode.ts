// Thread mode of the session that is open. While it is on, the service is told at each opening and each resume
// (design/coordination.md A6); what the service answers is what is shown.
import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useRef, useState } from "react";
import { setMode } from "./api";
import { workerKeys } from "./keys";
import { remember, remembered } from "./mode";
import type { Policy, Roster } from "./types";

export interface ThreadMode {
  on: boolean;
  busy: boolean;
  error: Error | undefined;
  set: (on: boolean, policy?: Policy) => Promise<void>;
  /** Tells it once more, where it is on. */
  again: () => void;
}

export function useThreadMode(session: string, roster: Roster | null | undefined): ThreadMode {
  const client = useQueryClient();
  const [wanted, setWanted] = useState<boolean>();
  const [error, setError] = useState<Error>();
  const told = useRef(false);
  const asked = useRef(0);
  const queue = useRef(Promise.resolve());
  const enabled = roster?.enabled;

  const set = useCallback(
    (on: boolean, policy?: Policy): Promise<void> => {
      told.current = true;
      asked.current += 1;
      const mine = asked.current;
      setWanted(on);
      setError(undefined);
      const call = async (): Promise<void> => {
        try {
          await setMode(session, on, policy);
          remember(session, on, localStorage);
        } catch (problem) {
          setError(problem as Error);
        }
        await client.invalidateQueries({ queryKey: workerKeys.roster(session), exact: true });
        // What was asked for since then is still on its way.
        if (mine === asked.current) setWanted(undefined);
      };
      // In the order asked for: the last word must also be the last to arrive.
      queue.current = queue.current.then(call);
      return queue.current;
    },
    [client, session],
  );
  const again = useCallback((): void => {
    if (remembered(session, localStorage)) void set(true);
  }, [session, set]);

  useEffect(() => {
    if (!told.current) again();
  }, [again]);
  useEffect(() => {
    if (enabled === undefined || wanted !== undefined) return;
    // Somebody else may have turned it on or off meanwhile: then that is what is kept on.
    remember(session, enabled, localStorage);
    if (enabled && !told.current) void set(true);
  }, [enabled, session, set, wanted]);

  return { on: wanted ?? enabled ?? false, busy: wanted !== undefined, error, set, again };
}
