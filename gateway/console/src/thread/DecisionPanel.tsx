// Where a person decides: what stands, its buttons and keys, the form that is open, and what became of the last try.
import { useState } from "react";
import { bare, offered, plain, proposalOf, withText, type Intention, type Verb } from "../api/decisions";
import { hoistedOn } from "../api/hoisted";
import { newKey } from "../api/http";
import type { Decision, Thread } from "../api/types";
import { useDecide } from "../api/useDecide";
import { Hoisted } from "../family/Hoisted";
import { useKeys } from "../keys/useKeys";
import { wordsOf } from "../text/states";
import { DecisionBar } from "./DecisionBar";
import { OpenForm, takesOver, type FormVerb } from "./OpenForm";
import { RefusalNotice } from "./RefusalNotice";
import { Standing } from "./Standing";
import { TextForm } from "./TextForm";
import { useSettled } from "./useSettled";

/** A form or dialog is open, for what stood when it was opened. */
interface Opened {
  verb: FormVerb;
  standing: string;
}

export function DecisionPanel({ thread }: { thread: Thread }) {
  const [opened, setOpened] = useState<Opened>();
  const deciding = useDecide(thread.id);
  const digest = proposalOf(thread)?.proposal_digest ?? "";
  const settled = useSettled(digest);
  const verbs = offered(thread);
  const standing = `${thread.state} ${digest}`;
  // What was opened for another proposal or state has lost its object: it closes by itself.
  const open = opened?.standing === standing ? opened.verb : undefined;

  const close = (): void => {
    setOpened(undefined);
  };
  const send = (intention: Intention): void => {
    close();
    deciding.send(intention);
  };
  const press = (verb: Verb): void => {
    if (!verbs.includes(verb) || deciding.pending) return;
    switch (verb) {
      case "provide":
        document.querySelector<HTMLElement>("[data-answer]")?.focus();
        break;
      case "accept":
        if (settled) send(plain(thread, "accept", newKey()));
        break;
      case "accept_review":
      case "retry_cleanup":
      case "accept_cleanup_failure":
        send(bare(thread, verb, newKey()));
        break;
      case "force_close":
        break; // Never offered by itself: the dialog of "dismiss" offers it where it is needed.
      default:
        setOpened({ verb, standing });
    }
  };
  const presser = (...wanted: Verb[]): (() => void) | undefined => {
    const verb = wanted.find((candidate) => verbs.includes(candidate));
    if (verb === undefined) return undefined;
    return () => {
      press(verb);
    };
  };
  useKeys({
    a: presser("accept", "accept_review", "retry_cleanup"),
    e: presser("edit"),
    r: presser("provide", "redirect_action", "redirect"),
    x: presser("reject"),
    d: presser("dismiss"),
    s: presser("later"),
    h: presser("hand_off"),
    t: presser("rename"),
    c: presser("cleanup"),
    p: presser("set_action_proposal"),
    Escape: open ? close : undefined,
  });

  const hoisted = hoistedOn(thread);
  const { tone, ask } = wordsOf(thread.state);
  // An umbrella that only waits needs no more than a line.
  const slim = thread.state === "monitoring" && hoisted.length === 0 && !takesOver(open);
  const frame = tone === "wait" || tone === "warn" ? "border-line-strong shadow-sm" : "border-line";
  return (
    <div className="flex flex-col gap-4">
      <RefusalNotice deciding={deciding} />
      <p role="status" className="sr-only">
        {deciding.decision ? told(deciding.decision) : ""}
      </p>
      <div
        data-panel
        className={`flex flex-col gap-5 rounded-xl border bg-raised p-5 max-lg:p-4 ${slim ? "lg:flex-row lg:items-center lg:justify-between" : ""} ${frame}`}
      >
        <Standing thread={thread} editing={open === "edit"} />
        {hoisted.length > 0 ? <Hoisted umbrella={thread} actions={hoisted} /> : null}
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
        {open ? (
          <OpenForm thread={thread} verb={open} pending={deciding.pending} onSend={send} onClose={close} />
        ) : null}
        {takesOver(open) || verbs.length === 0 ? null : (
          <DecisionBar
            state={thread.state}
            verbs={verbs}
            pending={deciding.pending ? deciding.intention?.verb : undefined}
            settled={settled}
            slim={slim}
            onPress={press}
          />
        )}
      </div>
    </div>
  );
}

function told({ next_state }: Decision): string {
  return next_state === undefined ? "Recorded." : `Recorded. Now: ${wordsOf(next_state).label}.`;
}
