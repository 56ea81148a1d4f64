// Prompts and final texts, turn by turn. What the model thought and did on the way is not here, but in the activity.
import type { ReactNode } from "react";
import { visible } from "../text/visible";
import { Weaving } from "../ui/Quiet";
import type { Said } from "./said";
import { FinalText } from "./FinalText";
import { failure, OUTCOMES } from "./words";

interface Props {
  said: readonly Said[];
  /** What can be done with a turn that has ended; undefined: nothing. */
  actions: (turn: Said) => ReactNode;
}

export function Conversation({ said, actions }: Props) {
  return (
    <ol className="flex flex-col gap-8" aria-label="Conversation">
      {said.map((turn) => (
        <li key={turn.id} data-turn={turn.id} className="flex flex-col gap-4">
          {turn.prompts.map((prompt, index) => (
            <Prompt key={index} text={prompt} steer={index > 0} />
          ))}
          {turn.text === "" ? null : <FinalText text={turn.text} />}
          {turn.state === "running" ? (
            <div className="w-24" role="status" aria-label="The agent works">
              <Weaving />
            </div>
          ) : null}
          <Ending turn={turn} />
          {actions(turn)}
        </li>
      ))}
    </ol>
  );
}

function Prompt({ text, steer }: { text: string; steer: boolean }) {
  return (
    <div className="border-l-2 border-indigo pl-3">
      <p className="eyebrow">{steer ? "You, steering" : "You"}</p>
      <p className="max-w-prose whitespace-pre-wrap text-base [overflow-wrap:anywhere]">{visible(text)}</p>
    </div>
  );
}

function Ending({ turn }: { turn: Said }) {
  if (turn.live) return null;
  if (turn.state === "failed") return <p className="text-sm text-madder">{failure(turn.code)}</p>;
  const outcome =
    OUTCOMES[turn.outcome] ?? (turn.partial ? "Not finished: this is what came before it ended." : "");
  return outcome === "" ? null : <p className="text-sm text-muted">{outcome}</p>;
}
