// An open gate: what the agent asks, and the answers there are.
import type { OpenGate } from "../session/projection";
import { GATES } from "../session/words";
import { visible } from "../text/visible";
import { Button } from "../ui/Button";
import { ChoiceGate } from "./ChoiceGate";
import { DialogGate } from "./DialogGate";
import { JoinReview } from "./JoinReview";
import { PhaseSummary } from "./PhaseSummary";
import { useAnswer, type Answering } from "./useAnswer";

export function GateWidget({ session, gate }: { session: string; gate: OpenGate }) {
  const answering = useAnswer(session, gate.id);
  const name = GATES[gate.kind] ?? visible(gate.kind);
  return (
    <section
      aria-label={name}
      data-gate={gate.id}
      className="flex min-w-0 flex-col gap-3 rounded-lg border border-line border-l-4 border-l-weld bg-raised p-4"
    >
      <h2 className="eyebrow text-weld">{name}</h2>
      <Widget kind={gate.kind} proposal={gate.proposal} answering={answering} />
      {answering.refused === undefined ? null : (
        <p role="alert" className="text-sm text-madder">
          {answering.refused}
        </p>
      )}
    </section>
  );
}

function Widget({ kind, proposal, answering }: { kind: string; proposal: unknown; answering: Answering }) {
  switch (kind) {
    case "choice":
      return <ChoiceGate proposal={proposal} answering={answering} />;
    case "dialog":
      return <DialogGate proposal={proposal} answering={answering} />;
    case "join-review":
      return <JoinReview proposal={proposal} answering={answering} />;
    case "phase-summary":
      return <PhaseSummary proposal={proposal} answering={answering} />;
    default:
      return (
        <>
          <p className="text-sm text-muted">
            This console does not know such a question. Steer the agent instead.
          </p>
          <Button
            disabled={answering.busy}
            onClick={() => {
              answering.send({ cancelled: true });
            }}
          >
            No answer
          </Button>
        </>
      );
  }
}
