// Commands on the open session's plan, one after the other: each is made of the steps that are then on the page, found
// by their ids, and cites their version. A tick is shown at once. What took effect can be taken back, the last first.
import { useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { changePlan, type PlanCommand } from "./api";
import { planKeys } from "./keys";
import { ticked } from "./ticking";
import type { Plan, Step } from "./types";
import { undoing, type Undo } from "./undo";

/** The command that is meant, with the steps as they are by then; undefined: it means nothing any more. */
export type Meant = (steps: readonly Step[]) => PlanCommand | undefined;

export interface Commands {
  busy: boolean;
  error: Error | undefined;
  /** Whether it took effect. */
  run: (meant: Meant) => Promise<boolean>;
  clear: () => void;
  /** What would be taken back; undefined: nothing. */
  undo: Undo | undefined;
  takeBack: () => Promise<void>;
}

/** What became of a command. */
type Took = "effect" | "nothing" | "refused";

/** So many can be taken back. */
const MOST_UNDO = 20;

export function useCommand(session: string, plan: Plan | undefined): Commands {
  const client = useQueryClient();
  const [count, setCount] = useState(0);
  const [error, setError] = useState<Error>();
  const [undos, setUndos] = useState<readonly Undo[]>([]);
  const waiting = useRef<Meant[]>([]);
  const queue = useRef<Promise<unknown>>(Promise.resolve());
  const key = planKeys.steps(session);
  const put = (change: (known: Plan) => Plan): void => {
    client.setQueryData<Plan>(key, (known) => known && change(known));
  };
  const drop = (meant: Meant): void => {
    waiting.current = waiting.current.filter((other) => other !== meant);
  };

  const execute = async (meant: Meant, plan: Plan, back: boolean): Promise<Took> => {
    try {
      const now = client.getQueryData<Plan>(key) ?? plan;
      const command = meant(now.steps);
      if (!command) {
        drop(meant);
        return "nothing";
      }
      const answer = await changePlan(session, command, now.version);
      drop(meant);
      const undo = back ? undefined : undoing(command, ticked(now, command, "back").steps, answer.steps);
      // What has no way back bars the way to what was before it.
      if (!back) setUndos((known) => (undo ? [...known, undo].slice(-MOST_UNDO) : []));
      // A read that is under way may know less than this answer.
      await client.cancelQueries({ queryKey: key });
      const shown = waiting.current.reduce((shown, later) => ticked(shown, later(shown.steps)), answer);
      put((known) => (known.version > answer.version ? known : shown));
      return "effect";
    } catch (problem) {
      drop(meant);
      setError(problem as Error);
      put((known) => ticked(known, meant(known.steps), "back"));
      void client.invalidateQueries({ queryKey: planKeys.all(session) });
      return "refused";
    } finally {
      setCount((before) => before - 1);
    }
  };
  const take = (meant: Meant, back: boolean): Promise<Took> => {
    // What cannot be done with what is seen is no command: a key at the end of its way.
    const seen = client.getQueryData<Plan>(key) ?? plan;
    if (!seen || !meant(seen.steps)) return Promise.resolve("nothing");
    waiting.current.push(meant);
    setCount((before) => before + 1);
    setError(undefined);
    put((known) => ticked(known, meant(known.steps)));
    const done = queue.current.then(() => execute(meant, seen, back));
    queue.current = done;
    return done;
  };
  return {
    busy: count > 0,
    error,
    run: async (meant) => (await take(meant, false)) === "effect",
    undo: undos.at(-1),
    takeBack: async () => {
      const undo = undos.at(-1);
      if (!undo) return;
      setUndos((known) => (undo.anew ? [] : known.filter((other) => other !== undo)));
      for (const meant of undo.steps) if ((await take(meant, true)) === "refused") return;
    },
    clear: () => {
      setError(undefined);
    },
  };
}
