// Shows every chosen thread with what would happen to it, before one press decides on all of them.
import { proposalOf } from "../api/decisions";
import type { Thread } from "../api/types";
import { wordsOf } from "../text/states";
import { visible } from "../text/visible";
import { Parameters } from "../thread/Parameters";
import { Risk } from "../thread/Proposal";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { fits, type BatchDecision } from "./batch";

const NAMES: Record<BatchDecision, string> = { approve: "Approve", reject: "Reject", dismiss: "Dismiss" };

interface Props {
  decision: BatchDecision;
  /** As they stood when it was opened: what changes meanwhile is refused, item by item. */
  rows: readonly Thread[];
  onYes: (rows: readonly Thread[]) => void;
  onClose: () => void;
}

export function BatchConfirm({ decision, rows, onYes, onClose }: Props) {
  const wanted = rows.filter((thread) => fits(thread, decision));
  const left = rows.filter((thread) => !fits(thread, decision));
  const name = NAMES[decision];
  return (
    <Dialog
      title={`${name} ${wanted.length} ${wanted.length === 1 ? "thread" : "threads"}?`}
      onClose={onClose}
    >
      {decision === "approve" ? null : (
        <p className="text-sm text-muted">They end here and nothing is executed. This cannot be undone.</p>
      )}
      <ul className="-mx-1 flex max-h-96 flex-col gap-3 overflow-y-auto px-1">
        {wanted.map((thread) => (
          <Wanted key={thread.id} thread={thread} whole={decision === "approve"} />
        ))}
      </ul>
      {left.length > 0 ? (
        <p className="text-sm text-muted [overflow-wrap:anywhere]">
          Left out:{" "}
          {left
            .map((thread) => `${visible(thread.title)} (${wordsOf(thread.state).label.toLowerCase()})`)
            .join(", ")}
        </p>
      ) : null}
      <div className="flex justify-end gap-2">
        <Button look="bare" onClick={onClose}>
          Not yet
        </Button>
        <Button
          look={decision === "approve" ? "primary" : "danger"}
          data-autofocus
          hint="Enter"
          onClick={() => {
            onYes(wanted);
          }}
        >
          {name} {wanted.length}
        </Button>
      </div>
    </Dialog>
  );
}

function Wanted({ thread, whole }: { thread: Thread; whole: boolean }) {
  const action = proposalOf(thread);
  return (
    <li className="flex flex-col gap-1">
      <p className="[overflow-wrap:anywhere]">
        <span className="font-medium">{visible(thread.title)}</span>{" "}
        {action ? (
          <code className="font-mono text-sm">{visible(action.name)}</code>
        ) : (
          <span className="text-sm text-muted">{wordsOf(thread.state).ask}</span>
        )}
      </p>
      {whole && action ? (
        <>
          <Parameters parameters={action.parameters ?? {}} />
          <Risk action={action} />
        </>
      ) : null}
    </li>
  );
}
