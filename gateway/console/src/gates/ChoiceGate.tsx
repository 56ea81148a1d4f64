// One of several; where it is allowed, something else in words.
import { useState } from "react";
import { choiceOf } from "../session/gates";
import { visible } from "../text/visible";
import { Button } from "../ui/Button";
import { Other } from "./Other";
import type { Answering } from "./useAnswer";

export function ChoiceGate({ proposal, answering }: { proposal: unknown; answering: Answering }) {
  const { question, options, allowOther } = choiceOf(proposal);
  const [other, setOther] = useState(false);
  return (
    <>
      <p className="text-base [overflow-wrap:anywhere]">{visible(question)}</p>
      {other ? (
        <Other
          answering={answering}
          label="What instead?"
          onCancel={() => {
            setOther(false);
          }}
        />
      ) : (
        <div className="flex flex-wrap gap-2">
          {options.map(({ id, label }) => (
            <Button
              key={id}
              disabled={answering.busy}
              className="!whitespace-normal text-left"
              onClick={() => {
                answering.send({ value: id });
              }}
            >
              {visible(label)}
            </Button>
          ))}
          {allowOther ? (
            <Button
              look="bare"
              disabled={answering.busy}
              onClick={() => {
                setOther(true);
              }}
            >
              Other…
            </Button>
          ) : null}
        </div>
      )}
    </>
  );
}
