// A dialog of the agent's own: pick, yes or no, a line, a text. It may be left without an answer.
import { useState } from "react";
import { dialogOf } from "../session/gates";
import { visible } from "../text/visible";
import { Button } from "../ui/Button";
import { submitOnCtrlEnter } from "../ui/submit";
import type { Answering } from "./useAnswer";

export function DialogGate({ proposal, answering }: { proposal: unknown; answering: Answering }) {
  const dialog = dialogOf(proposal);
  const [text, setText] = useState(dialog.prefill);
  const { send, busy } = answering;
  const cancel = (
    <Button
      look="bare"
      disabled={busy}
      onClick={() => {
        send({ cancelled: true });
      }}
    >
      No answer
    </Button>
  );
  const typed = {
    className: "field",
    "aria-label": dialog.title,
    value: text,
    placeholder: dialog.placeholder,
    maxLength: 8_000,
    onChange: (event: { target: { value: string } }) => {
      setText(event.target.value);
    },
  };
  return (
    <>
      <p className="text-base font-medium [overflow-wrap:anywhere]">{visible(dialog.title)}</p>
      {dialog.message === "" ? null : (
        <p className="whitespace-pre-wrap text-base [overflow-wrap:anywhere]">{visible(dialog.message)}</p>
      )}
      {dialog.method === "confirm" ? (
        <div className="flex flex-wrap gap-2">
          <Button
            look="primary"
            disabled={busy}
            onClick={() => {
              send({ confirmed: true });
            }}
          >
            Yes
          </Button>
          <Button
            disabled={busy}
            onClick={() => {
              send({ confirmed: false });
            }}
          >
            No
          </Button>
          {cancel}
        </div>
      ) : dialog.method === "select" ? (
        <div className="flex flex-wrap gap-2">
          {dialog.options.map(({ id, label }) => (
            <Button
              key={id}
              disabled={busy}
              className="!whitespace-normal text-left"
              onClick={() => {
                send({ value: id });
              }}
            >
              {visible(label)}
            </Button>
          ))}
          {cancel}
        </div>
      ) : (
        <form
          className="flex flex-col gap-2"
          onKeyDown={submitOnCtrlEnter}
          onSubmit={(event) => {
            event.preventDefault();
            send({ value: text });
          }}
        >
          {dialog.method === "editor" ? (
            <textarea rows={6} {...typed} />
          ) : (
            <input autoComplete="off" {...typed} />
          )}
          <div className="flex gap-2">
            <Button look="primary" type="submit" disabled={busy}>
              Answer
            </Button>
            {cancel}
          </div>
        </form>
      )}
    </>
  );
}
