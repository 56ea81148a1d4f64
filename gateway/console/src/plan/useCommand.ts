// Commands on the open session's plan, one after the other: each is made of the steps that are then on the page, found
// by their ids, and cites their version. A tick is shown at once.
import { useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { changePlan, type PlanCommand } from "./api";
import { planKeys } from "./keys";
import { ticked } from "./ticking";
import type { Plan, Step } from "./types";

/** The command that is meant, with the steps as they are by then; undefined: it means nothing any more. */
export type Meant = (steps: readonly Step[]) => PlanCommand | undefined;

export interface Commands {
  busy: boolean;
  error: Error | undefined;
  /** Whether it took effect. */
  run: (meant: Meant) => Promise<boolean>;
  clear: () => void;
}

export function useCommand(session: string, plan: Plan | undefined): Commands {
  const client = useQueryClient();
  const [count, setCount] = useState(0);
  const [error, setError] = useState<Error>();
  const waiting = useRef<Meant[]>([]);
  const queue = useRef<Promise<unknown>>(Promise.resolve());
  const key = planKeys.steps(session);
  const put = (change: (known: Plan) => Plan): void => {
    client.setQueryData<Plan>(key, (known) => known && change(known));
  };
  const drop = (meant: Meant): void => {
    waiting.current = waiting.current.filter((other) => other !== meant);
  };

  const execute = async (meant: Meant, plan: Plan): Promise<boolean> => {
    try {
      const now = client.getQueryData<Plan>(key) ?? plan;
      const command = meant(now.steps);
      if (!command) {
        drop(meant);
        return false;
      }
      const answer = await changePlan(session, command, now.version);
      drop(meant);
      // A read that is under way may know less than this answer.
      await client.cancelQueries({ queryKey: key });
      const shown = waiting.current.reduce((shown, later) => ticked(shown, later(shown.steps)), answer);
      put((known) => (known.version > answer.version ? known : shown));
      return true;
    } catch (problem) {
      drop(meant);
      setError(problem as Error);
      put((known) => ticked(known, meant(known.steps), "back"));
      void client.invalidateQueries({ queryKey: planKeys.all(session) });
      return false;
    } finally {
      setCount((before) => before - 1);
    }
  };
  const run = (meant: Meant): Promise<boolean> => {
    // What cannot be done with what is seen is no command: a key at the end of its way.
    if (!plan || !meant(plan.steps)) return Promise.resolve(false);
    waiting.current.push(meant);
    setCount((before) => before + 1);
    setError(undefined);
    put((known) => ticked(known, meant(known.steps)));
    const done = queue.current.then(() => execute(meant, plan));
    queue.current = done;
    return done;
  };
  return {
    busy: count > 0,
    error,
    run,
    clear: () => {
      setError(undefined);
    },
  };
}
