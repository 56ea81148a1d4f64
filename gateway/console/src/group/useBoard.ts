// A group umbrella's board: its columns with the moves that are under way, and the calls that change it. Calls go out one
// after the other; each is shown at once where that can be, and what is refused is undone and read anew.
import { useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { useGroups } from "../api/families";
import type { Problem } from "../api/http";
import { keys, threadPath } from "../api/queries";
import { send } from "../api/send";
import type { CitedProposal, JsonObject, Outcomes, Thread } from "../api/types";
import { asProblem } from "../api/useDecide";
import { columnsOf, open, placed, type Move } from "./placing";

export interface Failure {
  what: string;
  problem: Problem;
}

export function useBoard(umbrella: string) {
  const client = useQueryClient();
  const query = useGroups(umbrella);
  const [moves, setMoves] = useState<readonly Move[]>([]);
  const [busy, setBusy] = useState<readonly string[]>([]);
  const [failure, setFailure] = useState<Failure>();
  const last = useRef<Promise<unknown>>(Promise.resolve());

  const pages = query.data?.pages ?? [];
  const groups = pages.flatMap((page) => page.groups ?? []);
  const columns = placed(columnsOf(groups), moves);

  /** Until the columns are read: the rest of the page may follow. */
  const readAgain = async (): Promise<void> => {
    void client.invalidateQueries({ queryKey: keys.inbox });
    void client.invalidateQueries({ queryKey: keys.thread(umbrella) });
    await client.invalidateQueries({ queryKey: keys.groups(umbrella) });
  };
  /** Runs a call after those before it; its failure is shown and leaves the later ones alone. */
  const queued = <T>(what: string, call: () => Promise<T>): Promise<T | undefined> => {
    const run = last.current.then(async () => {
      try {
        return await call();
      } catch (error) {
        setFailure({ what, problem: asProblem(error as Error) });
        return undefined;
      }
    });
    last.current = run;
    setFailure(undefined);
    return run.then(async (answer) => {
      await readAgain();
      return answer;
    });
  };
  const withBusy = <T>(mark: string, what: string, call: () => Promise<T>): Promise<T | undefined> => {
    setBusy((marks) => [...marks, mark]);
    return queued(what, call).finally(() => {
      setBusy((marks) => marks.filter((_, index) => index !== marks.indexOf(mark)));
    });
  };
  const forget = (done: readonly Move[]): void => {
    setMoves((all) => all.filter((move) => !done.includes(move)));
  };

  const move = (planned: readonly Move[]): void => {
    if (planned.length === 0) return;
    setMoves((all) => [...all, ...planned]);
    const what = "The move was undone";
    void queued(what, async () => {
      for (const [index, one] of planned.entries()) {
        try {
          await send(`${threadPath(one.from)}/move_item`, { item_ids: one.items, dest_thread_id: one.to });
        } catch (error) {
          forget(planned.slice(index));
          throw error;
        }
      }
    }).then(() => {
      forget(planned);
    });
  };

  return {
    query,
    columns,
    ended: groups.filter((group) => !open(group)),
    options: pages[0]?.action_options ?? [],
    busy,
    failure,
    clearFailure: () => {
      setFailure(undefined);
    },
    move,
    remove: (column: string) =>
      withBusy(column, "The group was not deleted", () =>
        send(`${threadPath(column)}/delete_group_subthread`, {}),
      ),
    pick: (column: string, capability: string | null, parameters?: JsonObject) =>
      withBusy(
        column,
        capability === null ? "The proposal was not cleared" : "The action was not picked",
        () =>
          send(`${threadPath(column)}/set_action_proposal`, {
            capability_name: capability,
            ...(parameters ? { parameters } : {}),
          }),
      ),
    spawn: (label: string) =>
      withBusy("new", "The group was not made", () =>
        send<Thread>(`${threadPath(umbrella)}/spawn_empty_group`, { label }),
      ),
    approveAll: (items: readonly CitedProposal[]) =>
      withBusy("all", "Nothing was approved", () =>
        send<Outcomes>(`${threadPath(umbrella)}/approve_all`, { items }),
      ),
  };
}

export type Board = ReturnType<typeof useBoard>;
