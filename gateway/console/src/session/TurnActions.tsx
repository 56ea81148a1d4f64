// What can be done with one turn of a conversation: see what the agent was told, go on from there.
import { useState } from "react";
import { refused } from "../plan/refused";
import { useContinue } from "../plan/useContinue";
import { LOOKS } from "../ui/Button";
import { Notice } from "../ui/Notice";
import { Told } from "../workers/Told";
import type { Said } from "./said";

interface Props {
  session: string;
  turn: Said;
  /** The agent may have been told more than the person's words. */
  told: boolean;
  /** Nothing came after it: the session itself goes on from here. */
  last: boolean;
}

const LINK = `rounded px-2 py-1 text-xs max-lg:py-2 disabled:opacity-50 ${LOOKS.bare}`;

export function TurnActions({ session, turn, told, last }: Props) {
  const [open, setOpen] = useState(false);
  const { busy, error, from } = useContinue();
  const { number } = turn;
  const over = number !== undefined && number > 0 && !turn.live;
  if (!told && !over) return null;
  return (
    <>
      <div className="-mx-2 flex flex-wrap gap-1">
        {over ? (
          <button
            type="button"
            className={LINK}
            disabled={busy}
            title="A new session with everything as it was after this turn"
            onClick={() => void from(session, number)}
          >
            {busy ? "Making a branch…" : last ? "Branch off here" : "Continue from here"}
          </button>
        ) : null}
        <button
          type="button"
          className={LINK}
          onClick={() => {
            setOpen(true);
          }}
        >
          What the agent was told
        </button>
      </div>
      {error ? (
        <Notice tone="warn" title="The branch was not made">
          {refused(error)}
        </Notice>
      ) : null}
      {open ? (
        <Told
          session={session}
          turn={turn.id}
          number={number}
          onClose={() => {
            setOpen(false);
          }}
        />
      ) : null}
    </>
  );
}
