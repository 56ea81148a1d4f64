// What can be done with one turn of a conversation: see what the agent was told.
import { useState } from "react";
import { Told } from "../workers/Told";
import { LOOKS } from "../ui/Button";

interface Props {
  session: string;
  turn: string;
  /** The agent may have been told more than the person's words. */
  told: boolean;
}

const LINK = `-mx-2 rounded px-2 py-1 text-xs max-lg:py-2 ${LOOKS.bare}`;

export function TurnActions({ session, turn, told }: Props) {
  const [open, setOpen] = useState(false);
  if (!told) return null;
  return (
    <div className="flex flex-wrap gap-4">
      <button
        type="button"
        className={LINK}
        onClick={() => {
          setOpen(true);
        }}
      >
        What the agent was told
      </button>
      {open ? (
        <Told
          session={session}
          turn={turn}
          onClose={() => {
            setOpen(false);
          }}
        />
      ) : null}
    </div>
  );
}
