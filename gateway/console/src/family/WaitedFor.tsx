// The open threads that an umbrella waits for in the end, by name: failed ones first, each with where it stands.
import { useState } from "react";
import type { Explanation, WaitedFor as Waited } from "../api/types";
import { plainName, wordsOf } from "../text/states";
import { visible } from "../text/visible";
import { ThreadLink } from "./ThreadLink";

const FEW = 4;

export function WaitedFor({ explanation }: { explanation: Explanation }) {
  const [whole, setWhole] = useState(false);
  const known = explanation.waits_for ?? [];
  const named = whole ? known : known.slice(0, FEW);
  const more = Math.max(explanation.waits_for_count ?? 0, known.length) - named.length;
  if (named.length === 0) return null;
  return (
    <>
      Waits for{" "}
      {named.map((waited, index) => (
        <span key={waited.thread_id}>
          {index > 0 ? ", " : ""}
          <ThreadLink id={waited.thread_id} className="text-ink">
            {visible(waited.title)}
          </ThreadLink>{" "}
          <Standing waited={waited} />
        </span>
      ))}
      {more > 0 && known.length > named.length ? (
        <>
          {" and "}
          <button
            type="button"
            className="rounded underline decoration-line-strong underline-offset-4 hover:text-ink"
            onClick={() => {
              setWhole(true);
            }}
          >
            {more} more
          </button>
        </>
      ) : more > 0 ? (
        ` and ${more} more`
      ) : null}
      .
    </>
  );
}

function Standing({ waited: { state, code } }: { waited: Waited }) {
  if (state !== "awaiting_redirect") return <>({wordsOf(state).label.toLowerCase()})</>;
  return <span className="text-madder">(failed{code ? `: ${plainName(code).toLowerCase()}` : ""})</span>;
}
