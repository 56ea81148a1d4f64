// The rows that are chosen in the inbox, and the one call that decides on them; every item is answered for itself.
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { Problem } from "../api/http";
import { keys } from "../api/queries";
import { send } from "../api/send";
import type { ItemOutcome, Thread } from "../api/types";
import { asProblem } from "../api/useDecide";
import { chunks, itemOf, type BatchDecision } from "./batch";

export interface Answer {
  decision: BatchDecision;
  outcomes: readonly ItemOutcome[];
  problem: Problem | undefined;
  titles: ReadonlyMap<string, string>;
}

export function useBatch(threads: readonly Thread[]) {
  const client = useQueryClient();
  const [ids, setIds] = useState<readonly string[]>([]);
  const [started, setStarted] = useState(false);
  const [pending, setPending] = useState(false);
  const [answer, setAnswer] = useState<Answer>();
  // What has left the inbox, decided by somebody else perhaps, is not chosen any more.
  const rows = threads.filter((thread) => ids.includes(thread.id));
  const chosen = new Set(rows.map((thread) => thread.id));

  const clear = (): void => {
    setIds([]);
    setStarted(false);
  };
  const decide = async (decision: BatchDecision, wanted: readonly Thread[]): Promise<void> => {
    const outcomes: ItemOutcome[] = [];
    const titles = new Map(wanted.map((thread) => [thread.id, thread.title]));
    let problem: Problem | undefined;
    setPending(true);
    try {
      for (const items of chunks(wanted.map((thread) => itemOf(thread, decision)))) {
        const { results } = await send<{ results?: ItemOutcome[] }>("/api/inbox/decide", { items });
        outcomes.push(...(results ?? []));
      }
      clear();
    } catch (error) {
      problem = asProblem(error as Error);
    }
    setAnswer({ decision, outcomes, problem, titles });
    setPending(false);
    await Promise.all(
      [keys.inbox, keys.threads, ["thread"]].map((queryKey) => client.invalidateQueries({ queryKey })),
    );
  };

  return {
    rows,
    chosen,
    selecting: started || rows.length > 0,
    pending,
    answer,
    start: () => {
      setStarted(true);
    },
    clear,
    toggle: (id: string) => {
      setIds(ids.includes(id) ? ids.filter((other) => other !== id) : [...ids, id]);
    },
    all: () => {
      setIds(threads.map((thread) => thread.id));
    },
    decide,
    clearAnswer: () => {
      setAnswer(undefined);
    },
  };
}

export type Batch = ReturnType<typeof useBatch>;
