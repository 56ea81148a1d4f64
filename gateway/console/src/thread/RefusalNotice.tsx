// A decision that did not take effect: who was first and with what, or why not, and one press to try again where that is safe.
import type { Deciding } from "../api/useDecide";
import { refusal } from "../text/refusals";
import { Ago } from "../ui/Ago";
import { Button } from "../ui/Button";
import { Notice } from "../ui/Notice";

export function RefusalNotice({ deciding }: { deciding: Deciding }) {
  if (!deciding.problem) return null;
  const { title, detail, winner, state, retryable } = refusal(deciding.problem, deciding.intention?.verb);
  return (
    <Notice
      tone="warn"
      title={title}
      actions={
        <>
          {retryable ? (
            <Button onClick={deciding.again} disabled={deciding.pending} className="bg-transparent">
              Try again
            </Button>
          ) : null}
          <Button look="bare" onClick={deciding.clear}>
            Close
          </Button>
        </>
      }
    >
      {winner ? (
        <p>
          <strong className="font-semibold">{winner.who}</strong> {winner.what} this
          {winner.at === undefined ? null : (
            <>
              {" "}
              <Ago time={new Date(winner.at).toISOString()} long />
            </>
          )}
          {state ? <>; it is now {state}</> : null}.
        </p>
      ) : null}
      <p>{detail}</p>
    </Notice>
  );
}
