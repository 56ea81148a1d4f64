// Sends decisions: one idempotency key a gesture, the same on every retry; a loser sees the winner, then the truth is read again.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { Intention } from "./decisions";
import { Problem, request } from "./http";
import { keys, threadPath } from "./queries";
import type { Decision } from "./types";

const BLIND_RETRIES = 2;

export interface Deciding {
  send: (intention: Intention) => void;
  /** Sends the refused intention once more, key and all. */
  again: () => void;
  clear: () => void;
  pending: boolean;
  intention: Intention | undefined;
  problem: Problem | undefined;
  decision: Decision | undefined;
}

/** `umbrella`: the thread on whose card the decision is made, where it is another one. */
export function useDecide(id: string, umbrella?: string): Deciding {
  const client = useQueryClient();
  const mutation = useMutation<Decision, Error, Intention>({
    mutationFn: ({ verb, body, key }) =>
      request<Decision>(`${threadPath(id)}/${verb}`, { method: "POST", body, key }),
    retry: (count, error) =>
      error instanceof Problem && (error.status === 0 || error.status === 503) && count < BLIND_RETRIES,
    retryDelay: (count) => 300 * 2 ** count,
    onSettled: () => {
      const shown = umbrella ?? id;
      for (const queryKey of [keys.inbox, keys.threads, keys.thread(id), keys.thread(shown)]) {
        void client.invalidateQueries({ queryKey });
      }
      // Pending until the card that was decided on tells the truth again; the rest of the page may follow.
      return client.invalidateQueries(
        { queryKey: keys.thread(shown), exact: true },
        { cancelRefetch: false },
      );
    },
  });
  return {
    send: (intention) => {
      if (!mutation.isPending) mutation.mutate(intention);
    },
    again: () => {
      if (mutation.variables && !mutation.isPending) mutation.mutate(mutation.variables);
    },
    clear: () => {
      mutation.reset();
    },
    pending: mutation.isPending,
    intention: mutation.variables,
    problem: mutation.error ? asProblem(mutation.error) : undefined,
    decision: mutation.data,
  };
}

export function asProblem(error: Error): Problem {
  return error instanceof Problem ? error : new Problem(0, "Not sent", error.message, "", {}, undefined);
}
