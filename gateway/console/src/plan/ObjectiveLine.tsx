// What the conversation is for, in one line; anybody may change it, and who was faster is told.
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Problem } from "../api/http";
import { visible } from "../text/visible";
import { Ago } from "../ui/Ago";
import { Button } from "../ui/Button";
import { Notice, ReadError } from "../ui/Notice";
import { submitOnCtrlEnter } from "../ui/submit";
import { lengthOf } from "../workers/words";
import { putObjective, useObjective } from "./api";
import { planKeys } from "./keys";
import { refused } from "./refused";
import type { Objective } from "./types";

const LIMIT = 500;
const NONE = "None yet: what is this for?";

export function ObjectiveLine({ session }: { session: string }) {
  const query = useObjective(session);
  const [editing, setEditing] = useState<Objective>();
  const objective = query.data;
  return (
    <section aria-label="Objective" className="flex flex-col gap-1 border-b border-line px-4 py-3">
      <h3 className="eyebrow">Objective</h3>
      {query.error ? (
        <ReadError error={query.error} what="The objective" onRetry={() => void query.refetch()} />
      ) : null}
      {objective && editing ? (
        <ObjectiveForm
          session={session}
          seen={editing}
          now={objective}
          onClose={() => {
            setEditing(undefined);
          }}
        />
      ) : null}
      {objective && !editing ? (
        <>
          <button
            type="button"
            aria-label={`${objective.text === "" ? NONE : objective.text}: edit the objective`}
            data-objective
            className="-mx-2 rounded px-2 py-1 text-left font-serif text-lg hover:bg-sunk"
            onClick={() => {
              setEditing(objective);
            }}
          >
            {objective.text === "" ? (
              <span className="text-faint">{NONE}</span>
            ) : (
              <span className="[overflow-wrap:anywhere]">{visible(objective.text)}</span>
            )}
          </button>
          {objective.updated_by === "" ? null : (
            <p className="text-xs text-faint">
              {objective.updated_by === "agent" ? "by the agent" : "by a person"}
              {objective.update_time ? (
                <>
                  {" · "}
                  <Ago time={objective.update_time} long />
                </>
              ) : null}
            </p>
          )}
        </>
      ) : null}
    </section>
  );
}

interface FormProps {
  session: string;
  /** What was there when the editing began. */
  seen: Objective;
  now: Objective;
  onClose: () => void;
}

function ObjectiveForm({ session, seen, now, onClose }: FormProps) {
  const client = useQueryClient();
  const [text, setText] = useState(seen.text);
  const [based, setBased] = useState(seen);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<Error>();
  const overtaken = now.version > based.version;
  const length = lengthOf(text.trim());
  const save = async (): Promise<void> => {
    if (busy || length > LIMIT) return;
    setBusy(true);
    setError(undefined);
    try {
      const saved = await putObjective(session, text, based.etag);
      client.setQueryData(planKeys.objective(session), saved);
      onClose();
    } catch (problem) {
      if (problem instanceof Problem && problem.status === 412)
        await client.invalidateQueries({ queryKey: planKeys.objective(session) });
      else setError(problem as Error);
      setBusy(false);
    }
  };
  return (
    <form
      aria-label="Objective"
      className="flex flex-col gap-2"
      onKeyDown={(event) => {
        if (event.key === "Escape") {
          event.preventDefault();
          onClose();
        }
        submitOnCtrlEnter(event);
        if (event.key === "Enter" && !event.nativeEvent.isComposing && !event.defaultPrevented) {
          // It is one line.
          event.preventDefault();
          void save();
        }
      }}
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <textarea
        aria-label="Objective"
        autoFocus
        rows={2}
        className="field resize-none [field-sizing:content]"
        value={text}
        placeholder="One line; empty: none"
        onChange={(event) => {
          setText(event.target.value);
        }}
      />
      {length > LIMIT - 50 ? (
        <p className={`text-xs ${length > LIMIT ? "text-madder" : "text-faint"}`}>
          {length} of {LIMIT} characters
        </p>
      ) : null}
      {overtaken ? (
        <Notice
          tone="wait"
          title="It was changed while you wrote"
          actions={
            <>
              <Button
                onClick={() => {
                  setBased(now);
                }}
              >
                Keep mine
              </Button>
              <Button look="bare" onClick={onClose}>
                Take theirs
              </Button>
            </>
          }
        >
          {now.updated_by === "agent" ? "The agent" : "Somebody"} wrote:{" "}
          {now.text === "" ? "nothing" : `“${visible(now.text)}”`}
        </Notice>
      ) : null}
      {error ? (
        <Notice tone="warn" title="The objective was not changed">
          {refused(error)}
        </Notice>
      ) : null}
      <div className="flex justify-end gap-2">
        <Button look="bare" onClick={onClose}>
          Cancel
        </Button>
        <Button look="primary" type="submit" disabled={busy || overtaken || length > LIMIT}>
          {busy ? "Saving…" : "Save"}
        </Button>
      </div>
    </form>
  );
}
