// Stays above the steps, however many there are: how far they are, what can be taken back, what was refused.
import { Button } from "../ui/Button";
import { Notice } from "../ui/Notice";
import { refused } from "./refused";
import type { Plan } from "./types";
import type { Commands } from "./useCommand";

export function StepsHeader({ plan, commands }: { plan: Plan | undefined; commands: Commands }) {
  const counted = plan !== undefined && plan.leaves > 0;
  return (
    <div className="sticky top-0 z-[1] -mx-4 flex flex-col gap-2 bg-paper px-4 pb-1 pt-3">
      <div className="flex min-h-8 items-center gap-3">
        <h3 className="eyebrow">Steps</h3>
        {commands.undo ? (
          <Button
            look="bare"
            className="!px-2 !text-xs"
            title={`Ctrl + Z, while a step has the focus. Last: ${commands.undo.label.toLowerCase()}`}
            disabled={commands.busy}
            onClick={() => void commands.takeBack()}
          >
            Undo: {commands.undo.label.toLowerCase()}
          </Button>
        ) : null}
        {counted ? (
          <span className="ml-auto text-xs text-faint" data-progress>
            {plan.done_leaves} of {plan.leaves} done
          </span>
        ) : null}
      </div>
      {counted ? (
        <progress
          aria-label="Progress"
          max={plan.leaves}
          value={plan.done_leaves}
          className={`progress ${plan.complete ? "progress-done" : ""}`}
        />
      ) : null}
      {commands.error ? (
        <Notice
          tone="warn"
          title="The plan was not changed"
          actions={
            <Button look="bare" onClick={commands.clear}>
              Close
            </Button>
          }
        >
          {refused(commands.error)}
        </Notice>
      ) : null}
    </div>
  );
}
