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
    const key = planKeys.steps(session);
    // A tick is shown at once; the answer, or a new read, puts right what was not so.
    client.setQueryData<Plan>(key, ticked(plan, command));
    try {
      const now = await changePlan(session, command, plan.version);
      // A read that is under way may know less than this answer.
      await client.cancelQueries({ queryKey: key });
      client.setQueryData<Plan>(key, (known) => (known && known.version > now.version ? known : now));
      return true;
    } catch (problem) {
      setError(problem as Error);
      client.setQueryData<Plan>(key, (known) => (known?.version === plan.version ? plan : known));
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

function ticked(plan: Plan, command: PlanCommand): Plan {
  if (command.verb !== "toggle") return plan;
  const { indices, done } = command.body;
  const steps = plan.steps.map((step) => (indices.includes(step.index) ? { ...step, done } : step));
  const leaves = steps.filter(({ leaf }) => leaf);
  const doneLeaves = leaves.filter((step) => step.done).length;
  return {
    ...plan,
    steps,
    done_leaves: doneLeaves,
    complete: leaves.length > 0 && doneLeaves === leaves.length,
  };
}
