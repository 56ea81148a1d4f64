// What would be done, whole, and the two answers to it; the rest (edit, redirect …) is on the proposal's own page.
import { useState } from "react";
import { plain, proposalOf } from "../api/decisions";
import { newKey } from "../api/http";
import { useThread } from "../api/queries";
import type { Deciding } from "../api/useDecide";
import { visible } from "../text/visible";
import { ConfirmEnd } from "../thread/Confirm";
import { Parameters } from "../thread/Parameters";
import { Risk } from "../thread/Proposal";
import { useSettled } from "../thread/useSettled";
import { Button } from "../ui/Button";
import { ReadError } from "../ui/Notice";
import { Skeleton } from "../ui/Quiet";

interface Props {
  id: string;
  title: string;
  deciding: Deciding;
}

export function ProposalDecision({ id, title, deciding }: Props) {
  const query = useThread(id);
  const thread = query.data;
  const action = thread && proposalOf(thread);
  const settled = useSettled(action?.proposal_digest ?? "");
  const [rejecting, setRejecting] = useState(false);
  if (query.error)
    return <ReadError error={query.error} what="The proposal" onRetry={() => void query.refetch()} />;
  if (!thread) return <Skeleton lines={2} />;
  if (!action) return <p className="text-muted">No action is proposed any more.</p>;
  const close = (): void => {
    setRejecting(false);
  };
  return (
    <div className="flex flex-col gap-3 rounded-lg border border-line bg-raised p-3">
      <p className="[overflow-wrap:anywhere]">
        <code className="font-mono font-semibold">{visible(action.name)}</code>
        {action.plan_summary ? <span className="text-muted"> · {visible(action.plan_summary)}</span> : null}
      </p>
      <Parameters parameters={action.parameters ?? {}} />
      <Risk action={action} />
      <div role="group" aria-label={`Answers to ${title}`} className="flex flex-wrap gap-2">
        <Button
          look="primary"
          disabled={!settled || deciding.pending}
          onClick={() => {
            deciding.send(plain(thread, "accept", newKey()));
          }}
        >
          {deciding.pending ? "Sending…" : "Approve"}
        </Button>
        <Button
          disabled={deciding.pending}
          onClick={() => {
            setRejecting(true);
          }}
        >
          Reject
        </Button>
      </div>
      {rejecting ? (
        <ConfirmEnd
          thread={thread}
          verb="reject"
          onYes={() => {
            close();
            deciding.send(plain(thread, "reject", newKey()));
          }}
          onClose={close}
        />
      ) : null}
    </div>
  );
}
