// A worker made by hand, where the agent did not start one: name, brief, and what drives it.
import { useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { sessionKeys, type Session } from "../session/api";
import { AdapterField, adapterFault } from "../sessions/AdapterField";
import { SessionLink } from "../sessions/SessionLink";
import { FormDialog } from "../ui/FormDialog";
import { Labelled } from "../ui/Labelled";
import { begun, createWorker, type Progress } from "./creating";
import { workerKeys } from "./keys";
import { refused } from "./refused";
import { BRIEF_LIMIT, lengthOf, nameFault } from "./words";

interface Props {
  session: Session;
  taken: readonly string[];
  onClose: () => void;
}

export function NewWorker({ session, taken, onClose }: Props) {
  const client = useQueryClient();
  const [name, setName] = useState("");
  const [brief, setBrief] = useState("");
  const [adapter, setAdapter] = useState(session.adapter === "external" ? "scripted" : session.adapter);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<Error>();
  const progress = useRef<Progress | undefined>(undefined);
  const [opened, setOpened] = useState<string>();
  const registered = opened !== undefined;
  const fault = name === "" || registered ? undefined : nameFault(name, taken);
  const length = lengthOf(brief.trim());
  const ready =
    name !== "" &&
    adapterFault(adapter) === undefined &&
    fault === undefined &&
    length > 0 &&
    length <= BRIEF_LIMIT;

  const submit = async (): Promise<void> => {
    if (busy || !ready) return;
    setBusy(true);
    setError(undefined);
    progress.current ??= begun();
    const { provider, model, thinking } = session;
    const agent = { adapter: adapter.trim(), provider, model, thinking };
    try {
      await createWorker({ coordinator: session.id, name, brief: brief.trim(), agent }, progress.current);
      onClose();
    } catch (problem) {
      setError(problem as Error);
      setBusy(false);
      if (progress.current.registered) setOpened(progress.current.session);
    } finally {
      void client.invalidateQueries({ queryKey: workerKeys.roster(session.id) });
      void client.invalidateQueries({ queryKey: sessionKeys.list });
    }
  };
  return (
    <FormDialog
      title="New worker"
      unsaved={brief.trim() !== "" && !registered}
      submit={{ label: busy ? "Making…" : error ? "Try again" : "Make worker", disabled: busy || !ready }}
      cancel={registered ? "Close" : "Cancel"}
      refusal={
        error && {
          title: registered ? "The worker is there, but was not told its brief" : "The worker was not made",
          why: (
            <>
              {refused(error)}{" "}
              {registered ? (
                <SessionLink id={opened} plain>
                  Open its session
                </SessionLink>
              ) : null}
            </>
          ),
        }
      }
      onSubmit={() => void submit()}
      onClose={onClose}
    >
      <p className="text-sm text-muted">
        The agent starts workers by itself while it works. By hand, a session of its own is opened, told the
        brief, and listed here; you say when it is done.
      </p>
      <div className="grid gap-4 sm:grid-cols-2">
        <Labelled label="Name" fault={fault}>
          <input
            className="field font-mono"
            value={name}
            maxLength={64}
            disabled={registered}
            autoComplete="off"
            autoCapitalize="none"
            spellCheck={false}
            placeholder="price-check"
            aria-invalid={fault !== undefined}
            data-autofocus
            onChange={(event) => {
              setName(event.target.value);
            }}
          />
        </Labelled>
        <AdapterField value={adapter} disabled={registered} onChange={setAdapter} />
      </div>
      <Labelled
        label="Brief"
        count={
          length > BRIEF_LIMIT - 400 ? (
            <span className={`text-xs font-normal ${length > BRIEF_LIMIT ? "text-madder" : "text-faint"}`}>
              {length} of {BRIEF_LIMIT}
            </span>
          ) : null
        }
      >
        <textarea
          className="field min-h-32"
          value={brief}
          disabled={registered}
          placeholder="Everything that it needs to know: it sees nothing of this conversation."
          onChange={(event) => {
            setBrief(event.target.value);
          }}
        />
      </Labelled>
    </FormDialog>
  );
}
