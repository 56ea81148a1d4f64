// A complete set of joins, read only: Continue keeps every one of them, Other keeps none.
import { joinsOf } from "../session/gates";
import { visible } from "../text/visible";
import { Reviewed } from "./Reviewed";
import type { Answering } from "./useAnswer";

export function JoinReview({ proposal, answering }: { proposal: unknown; answering: Answering }) {
  const joins = joinsOf(proposal);
  return (
    <>
      <p className="text-sm text-muted">
        {joins.length === 1 ? "One join is proposed." : `${joins.length} joins are proposed, as one set.`}{" "}
        Continue keeps {joins.length === 1 ? "it" : "all of them"}; anything else keeps none.
      </p>
      <div className="max-h-80 overflow-auto" tabIndex={0} role="region" aria-label="Proposed joins">
        <table className="w-full border-collapse text-sm">
          <thead>
            <tr className="text-left text-xs text-faint">
              <th className="border-b border-line-strong py-1 pr-4 font-medium">Left</th>
              <th className="border-b border-line-strong py-1 pr-4 font-medium">Type</th>
              <th className="border-b border-line-strong py-1 font-medium">Right</th>
            </tr>
          </thead>
          <tbody>
            {joins.map((join, index) => (
              <tr key={index} data-join className="align-top [overflow-wrap:break-word]">
                <td className="border-b border-line py-1 pr-4 font-mono">{visible(join.left)}</td>
                <td className="border-b border-line py-1 pr-4">{visible(join.type)}</td>
                <td className="border-b border-line py-1">
                  <span className="font-mono">{visible(join.right)}</span>
                  {join.rationale === "" ? null : <p className="text-muted">{visible(join.rationale)}</p>}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <Reviewed
        answering={answering}
        otherLabel="What is wrong with this set? The agent proposes the whole again."
      />
    </>
  );
}
