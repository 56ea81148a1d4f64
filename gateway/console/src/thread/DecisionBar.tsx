// The buttons of the offered verbs, each with its key. Decides nothing: it tells its owner what was pressed.
import type { Verb } from "../api/decisions";
import type { ThreadState } from "../gen/events";
import { Button } from "../ui/Button";

const YES: Partial<Record<ThreadState, string>> = {
  awaiting_confirmation: "Approve",
  awaiting_review: "Accept result",
};

interface Props {
  state: ThreadState;
  verbs: readonly Verb[];
  pending: Verb | undefined;
  settled: boolean;
  onPress: (verb: Verb) => void;
}

export function DecisionBar({ state, verbs, pending, settled, onPress }: Props) {
  const has = (verb: Verb): boolean => verbs.includes(verb);
  const busy = pending !== undefined;
  const redirect = has("redirect_action") ? "redirect_action" : has("redirect") ? "redirect" : undefined;
  return (
    <div
      role="group"
      aria-label="Decide"
      className="flex flex-wrap items-center gap-2 max-sm:grid max-sm:grid-cols-3 lg:sticky lg:bottom-0 lg:-mx-5 lg:-mb-5 lg:rounded-b-xl lg:border-t lg:border-line lg:bg-raised lg:px-5 lg:py-4"
    >
      {has("accept") ? (
        <Button
          look="primary"
          className="max-sm:col-span-3"
          hint="a"
          disabled={busy || !settled}
          onClick={() => {
            onPress("accept");
          }}
        >
          {pending === "accept" ? "Sending…" : (YES[state] ?? "Confirm")}
        </Button>
      ) : null}
      {has("edit") ? (
        <Button
          hint="e"
          disabled={busy}
          onClick={() => {
            onPress("edit");
          }}
        >
          Edit
        </Button>
      ) : null}
      {redirect ? (
        <Button
          look={has("accept") ? "plain" : "primary"}
          className={has("accept") ? "" : "max-sm:col-span-3"}
          hint="r"
          disabled={busy}
          onClick={() => {
            onPress(redirect);
          }}
        >
          Redirect
        </Button>
      ) : null}
      {has("reject") ? (
        <Button
          hint="x"
          disabled={busy || !settled}
          onClick={() => {
            onPress("reject");
          }}
        >
          Reject
        </Button>
      ) : null}
      <span className="flex gap-2 max-sm:col-span-3 max-sm:justify-between lg:ml-auto">
        {has("later") ? (
          <Button
            look="bare"
            hint="s"
            disabled={busy}
            onClick={() => {
              onPress("later");
            }}
          >
            Snooze
          </Button>
        ) : null}
        {has("dismiss") ? (
          <Button
            look="bare"
            hint="d"
            disabled={busy}
            onClick={() => {
              onPress("dismiss");
            }}
          >
            Dismiss
          </Button>
        ) : null}
      </span>
    </div>
  );
}
