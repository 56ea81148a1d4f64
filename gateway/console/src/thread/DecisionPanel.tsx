// Where a person decides: the standing proposal or question, its forms, its keys, and what became of the last try.
import { useState } from "react";
import {
  offered,
  plain,
  proposalOf,
  snooze,
  withFeedback,
  withOverrides,
  withText,
  type Verb,
} from "../api/decisions";
import { newKey } from "../api/http";
import type { Thread } from "../api/types";
import { useDecide } from "../api/useDecide";
import { useKeys } from "../keys/useKeys";
import { wordsOf } from "../text/states";
import { visible } from "../text/visible";
import { Weaving } from "../ui/Quiet";
import { ConfirmEnd, Snooze } from "./Confirm";
import { DecisionBar } from "./DecisionBar";
import { EditForm } from "./EditForm";
import { Proposal } from "./Proposal";
import { RefusalNotice } from "./RefusalNotice";
import { TextForm } from "./TextForm";
import { useSettled } from "./useSettled";

/** A form or dialog is open for this verb, on the proposal that stood when it was opened. */
interface Open {
  verb: Exclude<Verb, "accept" | "provide">;
  standing: string;
}

export function DecisionPanel({ thread }: { thread: Thread }) {
  const [opened, setOpen] = useState<Open>();
  const deciding = useDecide(thread.id);
  const verbs = offered(thread);
  const action = proposalOf(thread);
  const standing = `${thread.state} ${action?.proposal_digest ?? ""}`;
  const settled = useSettled(action?.proposal_digest ?? "");
  // What was opened for another proposal or state has lost its object: it closes by itself.
  const open = opened?.standing === standing ? opened.verb : undefined;
  const close = (): void => {
    setOpen(undefined);
  };
  const send = (intention: Parameters<typeof deciding.send>[0]): void => {
    close();
    deciding.send(intention);
  };
  const press = (verb: Verb): void => {
    if (!verbs.includes(verb) || deciding.pending) return;
    if (verb === "provide") document.querySelector<HTMLElement>("[data-answer]")?.focus();
    else if (verb !== "accept") setOpen({ verb, standing });
    else if (settled) send(plain(thread, "accept", newKey()));
  };
  const redirect: Verb = verbs.includes("redirect_action") ? "redirect_action" : "redirect";
  useKeys({
    a: bind("accept"),
    e: bind("edit"),
    r: verbs.includes("provide") ? bind("provide") : bind(redirect),
    x: bind("reject"),
    d: bind("dismiss"),
    s: bind("later"),
    Escape: open ? close : undefined,
  });
  function bind(verb: Verb): (() => void) | undefined {
    return verbs.includes(verb)
      ? () => {
          press(verb);
        }
      : undefined;
  }

  const { tone, ask } = wordsOf(thread.state);
  const waits = tone === "wait" || tone === "warn";
  const form = open === "edit" || open === "redirect" || open === "redirect_action";
  return (
    <div className="flex flex-col gap-4">
      <RefusalNotice deciding={deciding} />
      <p role="status" className="sr-only">
        {deciding.decision ? `Recorded. Now: ${wordsOf(deciding.decision.next_state).label}.` : ""}
      </p>
      <div
        data-panel
        className={`flex flex-col gap-5 rounded-xl border bg-raised p-5 max-lg:p-4 ${waits ? "border-line-strong shadow-sm" : "border-line"}`}
      >
        {tone === "busy" ? (
          <>
            <p className="font-serif text-lg">{ask}.</p>
            {thread.state === "monitoring" ? null : <Weaving />}
          </>
        ) : null}
        {thread.question ? <p className="font-serif text-xl">{visible(thread.question)}</p> : null}
        {thread.state === "awaiting_redirect" ? <Failure thread={thread} /> : null}
        {action && open !== "edit" ? <Proposal action={action} heading={headingOf(thread)} /> : null}
        {!action && !thread.question && waits && thread.state !== "awaiting_redirect" ? (
          <p className="font-serif text-xl">
            {thread.state === "awaiting_confirmation" ? "No action is proposed." : ask}
          </p>
        ) : null}
        {tone === "done" || tone === "quiet" ? <Ended thread={thread} /> : null}
        {verbs.includes("provide") ? (
          <TextForm
            key={standing}
            label={thread.question ? "Your answer" : ask}
            submit="Send answer"
            hint="It reaches the next inference. Nothing is executed."
            pending={deciding.pending}
            focus={false}
            onSubmit={(text) => {
              send(withText(thread, "provide", text, newKey()));
            }}
          />
        ) : null}
        {open === "edit" && action ? (
          <EditForm
            action={action}
            pending={deciding.pending}
            onOverrides={(changed) => {
              send(withOverrides(thread, action, changed, newKey()));
            }}
            onReplace={(parameters) => {
              const { body, key } = plain(thread, "accept", newKey());
              send({
                verb: "edit",
                body: { ...body, action: { capability_name: action.name, parameters } },
                key,
              });
            }}
            onCancel={close}
          />
        ) : null}
        {open === "edit" && !action ? (
          <TextForm
            label={thread.state === "awaiting_intent_confirmation" ? "What is wanted" : "What it needs"}
            initial={
              (thread.state === "awaiting_intent_confirmation" ? thread.intent : thread.context)?.text ?? ""
            }
            submit="Save"
            pending={deciding.pending}
            onSubmit={(text) => {
              send(withText(thread, "edit", text, newKey()));
            }}
            onCancel={close}
          />
        ) : null}
        {open === "redirect" || open === "redirect_action" ? (
          <TextForm
            label="What should be different?"
            hint="Your words reach the next proposal."
            submit="Redirect"
            mayBeEmpty
            pending={deciding.pending}
            onSubmit={(text) => {
              send(withFeedback(thread, open, text, newKey()));
            }}
            onCancel={close}
          />
        ) : null}
        {form || verbs.length === 0 ? null : (
          <DecisionBar
            state={thread.state}
            verbs={verbs}
            pending={deciding.pending ? deciding.intention?.verb : undefined}
            settled={settled}
            onPress={press}
          />
        )}
      </div>
      {open === "dismiss" || open === "reject" ? (
        <ConfirmEnd
          thread={thread}
          verb={open}
          onYes={() => {
            send(plain(thread, open, newKey()));
          }}
          onClose={close}
        />
      ) : null}
      {open === "later" ? (
        <Snooze
          onHours={(hours) => {
            send(snooze(hours, newKey()));
          }}
          onClose={close}
        />
      ) : null}
    </div>
  );
}

function headingOf(thread: Thread): string {
  switch (thread.state) {
    case "awaiting_confirmation":
      return "Proposed action";
    case "executing":
      return "Running";
    case "done":
    case "awaiting_review":
      return "Executed action";
    default:
      return "Last proposed action";
  }
}

function Failure({ thread }: { thread: Thread }) {
  const { action, code } = thread.failure_context ?? {};
  return (
    <p className="font-serif text-xl">
      {action ? <code className="font-mono text-lg">{action}</code> : "The action"} failed
      {code ? <span className="text-muted"> ({code.replaceAll("_", " ")})</span> : null}. Say what to do
      instead.
    </p>
  );
}

function Ended({ thread }: { thread: Thread }) {
  return <p className="font-serif text-lg text-muted">{wordsOf(thread.state).ask}.</p>;
}
