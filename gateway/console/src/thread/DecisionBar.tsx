// The buttons of the offered verbs, each with its key. Decides nothing: it tells its owner what was pressed.
import type { Verb } from "../api/decisions";
import type { ThreadState } from "../gen/events";
import { Button, LOOKS } from "../ui/Button";
import { Menu, type Choice } from "../ui/Menu";

const YES: Partial<Record<ThreadState, string>> = {
  awaiting_confirmation: "Approve",
  awaiting_review: "Accept result",
  done_cleanup_unsuccessful: "Clean up again",
};

/** What is done now and then: behind one button, but with keys of their own. */
const MORE: readonly (readonly [verb: Verb, label: string, key: string])[] = [
  ["set_action_proposal", "Pick an action…", "p"],
  ["hand_off", "Hand off…", "h"],
  ["rename", "Rename…", "t"],
  ["cleanup", "Clean up the source…", "c"],
];

interface Props {
  state: ThreadState;
  verbs: readonly Verb[];
  pending: Verb | undefined;
  settled: boolean;
  /** In line with what stands instead of below it. */
  slim: boolean;
  onPress: (verb: Verb) => void;
}

export function DecisionBar({ state, verbs, pending, settled, slim, onPress }: Props) {
  const has = (verb: Verb): boolean => verbs.includes(verb);
  const busy = pending !== undefined;
  const yes = (["accept", "accept_review", "retry_cleanup"] as const).find(has);
  const more = MORE.filter(([verb]) => has(verb)).map(([verb, label, hint]): Choice => ({
    id: verb,
    label,
    hint,
    onPick: () => {
      onPress(verb);
    },
  }));
  const redirect = has("redirect_action") ? "redirect_action" : has("redirect") ? "redirect" : undefined;
  return (
    <div
      role="group"
      aria-label="Decide"
      className={`flex flex-wrap items-center gap-2 max-sm:grid max-sm:grid-cols-3 ${slim ? "lg:-my-2" : "lg:sticky lg:bottom-0 lg:-mx-5 lg:-mb-5 lg:rounded-b-xl lg:border-t lg:border-line lg:bg-raised lg:px-5 lg:py-4"}`}
    >
      {yes ? (
        <Button
          look="primary"
          className="max-sm:col-span-3"
          hint="a"
          disabled={busy || !settled}
          onClick={() => {
            onPress(yes);
          }}
        >
          {pending === yes ? "Sending…" : (YES[state] ?? "Confirm")}
        </Button>
      ) : null}
      {has("accept_cleanup_failure") ? (
        <Button
          disabled={busy}
          onClick={() => {
            onPress("accept_cleanup_failure");
          }}
        >
          Leave it as it is
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
          look={yes ? "plain" : "primary"}
          className={yes ? "" : "max-sm:col-span-3"}
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
      <span className="flex gap-2 max-sm:col-span-3 max-sm:justify-between lg:ml-auto lg:gap-1">
        {has("later") ? (
          <Button
            look="bare"
            className="lg:px-2"
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
            className="lg:px-2"
            hint="d"
            disabled={busy}
            onClick={() => {
              onPress("dismiss");
            }}
          >
            Dismiss
          </Button>
        ) : null}
        {more.length > 0 ? (
          <Menu
            label="More"
            choices={more}
            disabled={busy}
            className={`inline-flex min-h-8 items-center rounded-md px-2 text-base disabled:opacity-50 max-lg:min-h-10 max-lg:px-4 ${LOOKS.bare}`}
          >
            ⋯
          </Menu>
        ) : null}
      </span>
    </div>
  );
}
