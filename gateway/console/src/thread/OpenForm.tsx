// The form or dialog of one verb. Makes the intention out of what was entered; its owner sends it.
import {
  bare,
  handOff,
  plain,
  proposalOf,
  rename,
  snooze,
  withAction,
  withFeedback,
  withOverrides,
  withText,
} from "../api/decisions";
import type { Intention, Verb } from "../api/decisions";
import { newKey } from "../api/http";
import type { Thread } from "../api/types";
import { CloseFamily } from "../family/CloseFamily";
import { PickAction } from "../picking/PickAction";
import { ConfirmCleanup, ConfirmEnd, Snooze } from "./Confirm";
import { EditForm } from "./EditForm";
import { HandOff, Rename } from "./Passing";
import { TextForm } from "./TextForm";

/** Verbs that ask for something before they are sent. `provide` asks too, but its form is always open. */
export type FormVerb = Exclude<
  Verb,
  "accept" | "accept_review" | "provide" | "force_close" | "retry_cleanup" | "accept_cleanup_failure"
>;

/** Whether the form takes the place of the buttons (a dialog stands over them). */
export function takesOver(verb: FormVerb | undefined): boolean {
  return verb === "edit" || verb === "redirect" || verb === "redirect_action";
}

interface Props {
  thread: Thread;
  verb: FormVerb;
  pending: boolean;
  onSend: (intention: Intention) => void;
  onClose: () => void;
}

export function OpenForm({ thread, verb, pending, onSend, onClose }: Props) {
  switch (verb) {
    case "edit":
      return <Edit thread={thread} pending={pending} onSend={onSend} onClose={onClose} />;
    case "redirect":
    case "redirect_action":
      return (
        <TextForm
          label="What should be different?"
          hint="Your words reach the next proposal."
          submit="Redirect"
          mayBeEmpty
          pending={pending}
          onSubmit={(text) => {
            onSend(withFeedback(thread, verb, text, newKey()));
          }}
          onCancel={onClose}
        />
      );
    case "dismiss":
      if ((thread.open_children ?? 0) > 0) {
        return <CloseFamily thread={thread} onSend={onSend} onClose={onClose} />;
      }
      return (
        <ConfirmEnd
          thread={thread}
          verb="dismiss"
          onYes={() => {
            onSend(plain(thread, "dismiss", newKey()));
          }}
          onClose={onClose}
        />
      );
    case "set_action_proposal":
      return <PickAction thread={thread} onSend={onSend} onClose={onClose} />;
    case "cleanup":
      return (
        <ConfirmCleanup
          onYes={() => {
            onSend(bare(thread, "cleanup", newKey()));
          }}
          onClose={onClose}
        />
      );
    case "hand_off":
      return (
        <HandOff
          onSend={(to, note) => {
            onSend(handOff(to, note, newKey()));
          }}
          onClose={onClose}
        />
      );
    case "rename":
      return (
        <Rename
          title={thread.title}
          onSend={(title) => {
            onSend(rename(title, newKey()));
          }}
          onClose={onClose}
        />
      );
    case "reject":
      return (
        <ConfirmEnd
          thread={thread}
          verb={verb}
          onYes={() => {
            onSend(plain(thread, verb, newKey()));
          }}
          onClose={onClose}
        />
      );
    case "later":
      return (
        <Snooze
          onHours={(hours) => {
            onSend(snooze(hours, newKey()));
          }}
          onClose={onClose}
        />
      );
  }
}

function Edit({ thread, pending, onSend, onClose }: Omit<Props, "verb">) {
  const action = proposalOf(thread);
  if (action && thread.state === "awaiting_confirmation") {
    return (
      <EditForm
        action={action}
        pending={pending}
        onOverrides={(changed) => {
          onSend(withOverrides(thread, action, changed, newKey()));
        }}
        onReplace={(parameters) => {
          onSend(withAction(thread, action, parameters, newKey()));
        }}
        onCancel={onClose}
      />
    );
  }
  const intent = thread.state === "awaiting_intent_confirmation";
  return (
    <TextForm
      label={intent ? "What is wanted" : "What it needs"}
      initial={(intent ? thread.intent : thread.context)?.text ?? ""}
      submit="Save"
      pending={pending}
      onSubmit={(text) => {
        onSend(withText(thread, "edit", text, newKey()));
      }}
      onCancel={onClose}
    />
  );
}
