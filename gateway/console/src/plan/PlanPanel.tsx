// Objective, steps, documents and branches of the session that is open. Live by the feed.
import { useState } from "react";
import { Button } from "../ui/Button";
import { ReadError } from "../ui/Notice";
import { Skeleton } from "../ui/Quiet";
import { AddSteps } from "./AddSteps";
import { usePlan } from "./api";
import { Branches } from "./Branches";
import { Documents } from "./Documents";
import { ObjectiveLine } from "./ObjectiveLine";
import { Steps } from "./Steps";
import { StepsHeader } from "./StepsHeader";
import { useCommand } from "./useCommand";

export function PlanPanel({ session }: { session: string }) {
  const query = usePlan(session);
  const plan = query.data;
  const commands = useCommand(session, plan);
  const [branches, setBranches] = useState(false);
  return (
    <div className="min-h-0 flex-1 overflow-y-auto">
      <ObjectiveLine session={session} />
      <section
        aria-label="Steps"
        className="flex flex-col gap-2 px-4 pb-3"
        onKeyDown={(event) => {
          if (event.key !== "z" || !(event.ctrlKey || event.metaKey) || event.shiftKey) return;
          if (event.target instanceof HTMLTextAreaElement) return;
          event.preventDefault();
          void commands.takeBack();
        }}
      >
        <StepsHeader plan={plan} commands={commands} />
        {query.error ? (
          <ReadError error={query.error} what="The plan" onRetry={() => void query.refetch()} />
        ) : null}
        {query.isPending ? <Skeleton lines={4} /> : null}
        {plan?.steps.length === 0 ? (
          <p className="text-sm text-muted">No steps yet. The agent plans here, and so may you.</p>
        ) : null}
        {plan && plan.steps.length > 0 ? <Steps plan={plan} commands={commands} /> : null}
        {plan ? <AddSteps label="Add steps" commands={commands} /> : null}
      </section>
      <Documents session={session} />
      <div className="border-t border-line px-4 py-3">
        <Button
          onClick={() => {
            setBranches(true);
          }}
        >
          Branches…
        </Button>
      </div>
      {branches ? (
        <Branches
          session={session}
          onClose={() => {
            setBranches(false);
          }}
        />
      ) : null}
    </div>
  );
}
