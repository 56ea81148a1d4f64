// Deleting what is selected: asks first, then says what became of each.
import { useState } from "react";
import { deleteSessions, type Session } from "../session/api";
import { titleOf } from "../session/title";
import { plainName } from "../text/states";
import { visible } from "../text/visible";
import { Button } from "../ui/Button";
import { Confirm } from "../ui/Confirm";
import { Notice } from "../ui/Notice";
import type { DeleteResult } from "./desk";

interface Props {
  selection: readonly string[];
  sessions: readonly Session[];
  onDeleted: (results: readonly DeleteResult[]) => void;
  onNone: () => void;
}

export function DeleteBar({ selection, sessions, onDeleted, onNone }: Props) {
  const [asking, setAsking] = useState(false);
  const [busy, setBusy] = useState(false);
  const [left, setLeft] = useState<string[]>([]);
  const count = selection.length === 1 ? "1 session" : `${selection.length} sessions`;

  const remove = async (): Promise<void> => {
    setBusy(true);
    try {
      const results = await deleteSessions(selection);
      onDeleted(results);
      setLeft(results.filter(({ ok }) => !ok).map((result) => kept(result, sessions)));
    } catch (error) {
      onDeleted([]);
      setLeft([(error as Error).message]);
    } finally {
      setBusy(false);
      setAsking(false);
    }
  };
  return (
    <div className="sticky bottom-0 mt-auto bg-paper">
      {left.length > 0 ? (
        <div className="p-2">
          <Notice
            tone="warn"
            title={left.length === 1 ? "One was not deleted" : `${left.length} were not deleted`}
            actions={
              <Button
                look="bare"
                onClick={() => {
                  setLeft([]);
                }}
              >
                Close
              </Button>
            }
          >
            {left.map((line, index) => (
              <p key={index}>{line}</p>
            ))}
          </Notice>
        </div>
      ) : null}
      {selection.length > 0 ? (
        <div
          role="toolbar"
          aria-label="Selected"
          className="flex items-center gap-2 border-t border-line px-4 py-2"
        >
          <span className="text-sm">{selection.length} selected</span>
          <Button look="bare" className="ml-auto" onClick={onNone} hint="Esc">
            None
          </Button>
          <Button
            look="danger"
            onClick={() => {
              setLeft([]);
              setAsking(true);
            }}
          >
            Delete
          </Button>
        </div>
      ) : null}
      {asking ? (
        <Confirm
          title={`Delete ${count}?`}
          yes={`Delete ${count}`}
          no="Cancel"
          busy={busy && "Deleting…"}
          onYes={() => void remove()}
          onClose={() => {
            setAsking(false);
          }}
        >
          Agents that still work are stopped. What was said is gone; nobody can bring it back.
        </Confirm>
      ) : null}
    </div>
  );
}

function kept({ id, code }: DeleteResult, sessions: readonly Session[]): string {
  const session = sessions.find((other) => other.id === id);
  return `${session ? visible(titleOf(session)) : id}: ${plainName(code).toLowerCase()}`;
}
