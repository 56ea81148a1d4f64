// One proposal of the agent: where it stands, and, where it waits for approval, what it is and the two answers to it.
import { useEffect, useId, useRef, useState } from "react";
import { useDecide } from "../api/useDecide";
import { ThreadLink } from "../family/ThreadLink";
import { visible } from "../text/visible";
import { RefusalNotice } from "../thread/RefusalNotice";
import { Ago } from "../ui/Ago";
import { Button } from "../ui/Button";
import { StateChip } from "../ui/State";
import type { SessionProposal } from "./proposed";
import { ProposalDecision } from "./ProposalDecision";

export function ProposalRow({ proposal }: { proposal: SessionProposal }) {
  const { thread_id, state, create_time } = proposal;
  const title = visible(proposal.title);
  const asks = state === "awaiting_confirmation";
  const [open, setOpen] = useState(false);
  const deciding = useDecide(thread_id);
  const row = useRef<HTMLLIElement>(null);
  const details = useId();
  useEffect(() => {
    // The buttons are gone with the decision: who pressed one stays in the row.
    if (!asks && open && document.activeElement === document.body) row.current?.querySelector("a")?.focus();
  }, [asks, open]);
  return (
    <li ref={row} data-proposal={thread_id} className="flex flex-col gap-2">
      <div className="flex items-center gap-2">
        <StateChip state={state} />
        <ThreadLink id={thread_id} className="min-w-0 flex-1 [overflow-wrap:anywhere]">
          {title}
        </ThreadLink>
        <Ago time={create_time} className="text-xs text-faint" />
        {asks ? (
          <Button
            className="!px-2"
            aria-expanded={open}
            aria-controls={details}
            aria-label={`Decide on ${title}`}
            onClick={() => {
              setOpen(!open);
            }}
          >
            Decide
          </Button>
        ) : null}
      </div>
      <RefusalNotice deciding={deciding} />
      <div id={details}>
        {asks && open ? <ProposalDecision id={thread_id} title={title} deciding={deciding} /> : null}
      </div>
    </li>
  );
}
