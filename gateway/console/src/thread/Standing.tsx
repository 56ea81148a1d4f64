// What stands before the person who decides: the proposal, the question, the failure, or what is under way.
import { proposalOf } from "../api/decisions";
import type { Thread } from "../api/types";
import { wordsOf } from "../text/states";
import { visible } from "../text/visible";
import { waitsOf } from "../text/waits";
import { Weaving } from "../ui/Quiet";
import { Proposal } from "./Proposal";

interface Props {
  thread: Thread;
  /** The proposal is being edited: its form shows it. */
  editing: boolean;
}

export function Standing({ thread, editing }: Props) {
  const action = proposalOf(thread);
  return (
    <>
      <Headline thread={thread} />
      {action && !editing ? <Proposal action={action} heading={headingOf(thread)} /> : null}
    </>
  );
}

function Headline({ thread }: { thread: Thread }) {
  const { tone, ask } = wordsOf(thread.state);
  if (thread.state === "awaiting_redirect") return <Failure thread={thread} />;
  if (thread.question && tone === "wait")
    return <p className="font-serif text-xl">{visible(thread.question)}</p>;
  switch (tone) {
    case "busy":
      return (
        <>
          <p className="font-serif text-lg">{waitsOf(thread)}.</p>
          {thread.state === "monitoring" ? null : <Weaving />}
        </>
      );
    case "done":
    case "quiet":
      return <p className="font-serif text-lg text-muted">{ask}.</p>;
    case "wait":
    case "warn":
      if (proposalOf(thread)) return null;
      return (
        <p className="font-serif text-xl">
          {thread.state === "awaiting_confirmation" ? "No action is proposed." : ask}
        </p>
      );
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

function headingOf(thread: Thread): string {
  switch (thread.state) {
    case "awaiting_confirmation":
      return "Proposed action";
    case "executing":
      return "Running";
    case "done":
    case "done_cleanup_successful":
    case "awaiting_review":
      return "Executed action";
    default:
      return "Last proposed action";
  }
}
