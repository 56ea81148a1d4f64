// The form or dialog of one verb. Makes the intention out of what was entered; its owner sends it.
import {
  plain,
  proposalOf,
  snooze,
  withAction,
  withFeedback,
  withOverrides,
  withText,
} from "../api/decisions";
import type { Intention, Verb } from "../api/decisions";
import { newKey } from "../api/http";
import type { Thread } from "../api/types";
import { ConfirmEnd, Snooze } from "./Confirm";
import { EditForm } from "./EditForm";
import { TextForm } from "./TextForm";

/** Verbs that ask for something before they are sent. `provide` asks too, but its form is always open. */
export type FormVerb = Exclude<Verb, "accept" | "provide">;

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
