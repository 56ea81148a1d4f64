// A command on the open session's plan: cites the version on screen, puts the answer on the page, tells a refusal.
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Problem } from "../api/http";
import { changePlan, type PlanCommand } from "./api";
import { planKeys } from "./keys";
import type { Plan } from "./types";

export interface Commands {
  busy: boolean;
  error: Error | undefined;
  /** Whether it took effect. */
  run: (command: PlanCommand | undefined) => Promise<boolean>;
  clear: () => void;
}

export function useCommand(session: string, plan: Plan | undefined): Commands {
  const client = useQueryClient();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<Error>();
  const run = async (command: PlanCommand | undefined): Promise<boolean> => {
    if (!command || !plan || busy) return false;
    setBusy(true);
    setError(undefined);
    try {
      const now = await changePlan(session, command, plan.version);
      // A read that is under way may know less than this answer.
      await client.cancelQueries({ queryKey: planKeys.steps(session) });
      client.setQueryData<Plan>(planKeys.steps(session), (known) =>
        known && known.version > now.version ? known : now,
      );
      return true;
    } catch (problem) {
      setError(problem as Error);
      if (problem instanceof Problem && problem.conflict) {
        void client.invalidateQueries({ queryKey: planKeys.all(session) });
      }
      return false;
    } finally {
      setBusy(false);
    }
  };
  return {
    busy,
    error,
    run,
    clear: () => {
      setError(undefined);
    },
  };
}
