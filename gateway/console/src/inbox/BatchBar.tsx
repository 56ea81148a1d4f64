// The bar below the list while rows are chosen, and what became of the last batch.
import { useState } from "react";
import type { Thread } from "../api/types";
import { plainName } from "../text/states";
import { visible } from "../text/visible";
import { Button } from "../ui/Button";
import { Notice } from "../ui/Notice";
import { fits, type BatchDecision } from "./batch";
import { BatchConfirm } from "./BatchConfirm";
import type { Answer, Batch } from "./useBatch";

const LABELS: readonly (readonly [BatchDecision, string])[] = [
  ["approve", "Approve"],
  ["reject", "Reject"],
  ["dismiss", "Dismiss"],
];

export function BatchBar({ batch }: { batch: Batch }) {
  const [asking, setAsking] = useState<{ decision: BatchDecision; rows: readonly Thread[] }>();
  const { rows } = batch;
  return (
    <>
      {batch.selecting ? (
        <div
          role="group"
          aria-label="Decide on the selected"
          className="sticky bottom-0 z-[2] flex flex-wrap items-center gap-2 border-t border-line-strong bg-raised px-4 py-3"
        >
          <span role="status" className="mr-auto text-sm">
            {rows.length === 0 ? "Press the rows to decide on" : `${rows.length} selected`}
          </span>
          {rows.length === 0 ? (
            <Button onClick={batch.all}>Select all shown</Button>
          ) : (
            LABELS.map(([decision, label]) => {
              const count = rows.filter((thread) => fits(thread, decision)).length;
              return (
                <Button
                  key={decision}
                  look={decision === "approve" ? "primary" : decision === "dismiss" ? "bare" : "plain"}
                  disabled={count === 0 || batch.pending}
                  onClick={() => {
                    setAsking({ decision, rows });
                  }}
                >
                  {label}
                  {count < rows.length && count > 0 ? ` ${count}` : ""}
                </Button>
              );
            })
          )}
        </div>
      ) : null}
      {asking ? (
        <BatchConfirm
          decision={asking.decision}
          rows={asking.rows}
          onYes={(wanted) => {
            setAsking(undefined);
            void batch.decide(asking.decision, wanted);
          }}
          onClose={() => {
            setAsking(undefined);
          }}
        />
      ) : null}
    </>
  );
}

const DONE: Record<BatchDecision, string> = {
  approve: "approved",
  reject: "rejected",
  dismiss: "dismissed",
};

export function Decided({ batch }: { batch: Batch }) {
  if (!batch.answer) return null;
  const { decision, outcomes, problem, titles }: Answer = batch.answer;
  const refused = outcomes.filter((outcome) => !outcome.ok);
  const good = outcomes.length - refused.length;
  const title = problem && good === 0 ? "Nothing is known to have changed" : `${good} ${DONE[decision]}`;
  return (
    <div className="p-3">
      <Notice
        tone={refused.length > 0 || problem ? "warn" : "done"}
        title={refused.length > 0 ? `${title}, ${refused.length} not` : title}
        actions={
          <Button look="bare" onClick={batch.clearAnswer}>
            Close
          </Button>
        }
      >
        {problem ? <p>{problem.detail || problem.title}</p> : null}
        {refused.length > 0 ? (
          <ul>
            {refused.map((outcome) => (
              <li key={outcome.thread_id} data-outcome="failed">
                {visible(titles.get(outcome.thread_id) ?? outcome.thread_id)}:{" "}
                {outcome.message || plainName(outcome.code || "refused").toLowerCase()}
              </li>
            ))}
          </ul>
        ) : null}
      </Notice>
    </div>
  );
}
