// What a phase came to, and what is still open.
import { Markdown } from "../markdown/Markdown";
import { summaryOf } from "../session/gates";
import { visible } from "../text/visible";
import { Reviewed } from "./Reviewed";
import type { Answering } from "./useAnswer";

export function PhaseSummary({ proposal, answering }: { proposal: unknown; answering: Answering }) {
  const { phase, summary, questions } = summaryOf(proposal);
  return (
    <>
      {phase === "" ? null : <h3 className="font-serif text-lg font-medium">{visible(phase)}</h3>}
      <Markdown text={summary} />
      {questions.length > 0 ? (
        <section aria-label="Open questions">
          <h4 className="eyebrow mb-1">Open questions</h4>
          <ul className="flex list-disc flex-col gap-1 pl-5 text-base [overflow-wrap:anywhere]">
            {questions.map((question, index) => (
              <li key={index}>{visible(question)}</li>
            ))}
          </ul>
        </section>
      ) : null}
      <Reviewed answering={answering} otherLabel="What should be different?" />
    </>
  );
}
