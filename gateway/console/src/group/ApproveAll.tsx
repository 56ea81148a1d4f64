// Approves what stands in every group: shows all of it first, cites exactly that, and tells what became of each.
import type { CitedProposal, Outcomes, Thread } from "../api/types";
import { plainName } from "../text/states";
import { visible } from "../text/visible";
import { Parameters } from "../thread/Parameters";
import { Risk } from "../thread/Proposal";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { Notice } from "../ui/Notice";
import { approvable } from "./placing";

interface Props {
  /** What stood when it was opened: a later proposal is not approved by this press. */
  groups: readonly Thread[];
  onApprove: (items: CitedProposal[]) => void;
  onClose: () => void;
}

export function ApproveAll({ groups, onApprove, onClose }: Props) {
  const ready = groups.flatMap((thread) => {
    const action = approvable(thread);
    return action ? [{ thread, action }] : [];
  });
  return (
    <Dialog title={`Approve ${ready.length} ${ready.length === 1 ? "action" : "actions"}?`} onClose={onClose}>
      <ul className="-mx-1 flex max-h-96 flex-col gap-3 overflow-y-auto px-1">
        {ready.map(({ thread, action }) => (
          <li key={thread.id} className="flex flex-col gap-1">
            <p className="[overflow-wrap:anywhere]">
              <span className="font-medium">{visible(thread.title)}</span>{" "}
              <code className="font-mono text-sm">{visible(action.name)}</code>
            </p>
            <Parameters parameters={action.parameters ?? {}} />
            <Risk action={action} />
          </li>
        ))}
      </ul>
      <div className="flex justify-end gap-2">
        <Button look="bare" onClick={onClose}>
          Not yet
        </Button>
        <Button
          look="primary"
          data-autofocus
          hint="Enter"
          onClick={() => {
            onApprove(
              ready.map(({ thread, action }) => ({
                thread_id: thread.id,
                proposal_id: action.proposal_id,
                proposal_digest: action.proposal_digest,
              })),
            );
          }}
        >
          Approve {ready.length}
        </Button>
      </div>
    </Dialog>
  );
}

interface OutcomeProps {
  outcomes: Outcomes;
  titles: ReadonlyMap<string, string>;
  onClose: () => void;
}

export function ApprovedAll({ outcomes, titles, onClose }: OutcomeProps) {
  const approved = outcomes.approved ?? [];
  const failed = outcomes.failed ?? [];
  const skipped = outcomes.skipped_terminal ?? [];
  const name = (id: string): string => visible(titles.get(id) ?? id);
  const counts = [
    `${approved.length} approved`,
    ...(failed.length > 0 ? [`${failed.length} not`] : []),
    ...(skipped.length > 0 ? [`${skipped.length} had ended before`] : []),
  ];
  return (
    <Notice
      tone={failed.length > 0 ? "warn" : "done"}
      title={counts.join(", ")}
      actions={
        <Button look="bare" onClick={onClose}>
          Close
        </Button>
      }
    >
      <ul>
        {approved.map((id) => (
          <li key={id} data-outcome="approved">
            {name(id)}: approved
          </li>
        ))}
        {failed.map((outcome) => (
          <li key={outcome.thread_id} data-outcome="failed">
            {name(outcome.thread_id)}: {outcome.message || plainName(outcome.code || "refused").toLowerCase()}
          </li>
        ))}
        {skipped.map((id) => (
          <li key={id} data-outcome="skipped">
            {name(id)}: had ended before
          </li>
        ))}
      </ul>
    </Notice>
  );
}
