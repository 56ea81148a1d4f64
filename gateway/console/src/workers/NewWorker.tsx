// A worker made by hand, where the agent did not start one: name, brief, and what drives it.
import { useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { sessionKeys, type Session } from "../session/api";
import { SessionLink } from "../sessions/SessionLink";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { Notice } from "../ui/Notice";
import { submitOnCtrlEnter } from "../ui/submit";
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
  const ready = name !== "" && fault === undefined && length > 0 && length <= BRIEF_LIMIT;

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
    <Dialog title="New worker" onClose={onClose}>
      <form
        className="flex flex-col gap-4"
        onKeyDown={submitOnCtrlEnter}
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <p className="text-sm text-muted">
          The agent starts workers by itself while it works. By hand, a session of its own is opened, told the
          brief, and listed here; you say when it is done.
        </p>
        <div className="grid gap-4 sm:grid-cols-2">
          <label className="flex flex-col gap-1">
            <span className="text-sm font-medium">Name</span>
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
          </label>
          <label className="flex flex-col gap-1">
            <span className="text-sm font-medium">Adapter</span>
            <input
              className="field"
              value={adapter}
              disabled={registered}
              required
              pattern="[a-z0-9_\-]{1,63}"
              autoComplete="off"
              onChange={(event) => {
                setAdapter(event.target.value);
              }}
            />
          </label>
        </div>
        {fault ? (
          <p role="alert" className="-mt-2 text-sm text-madder">
            {fault}
          </p>
        ) : null}
        <label className="flex flex-col gap-1">
          <span className="flex items-baseline justify-between text-sm font-medium">
            Brief
            {length > BRIEF_LIMIT - 400 ? (
              <span className={`text-xs font-normal ${length > BRIEF_LIMIT ? "text-madder" : "text-faint"}`}>
                {length} of {BRIEF_LIMIT}
              </span>
            ) : null}
          </span>
          <textarea
            className="field min-h-32"
            value={brief}
            disabled={registered}
            placeholder="Everything that it needs to know: it sees nothing of this conversation."
            onChange={(event) => {
              setBrief(event.target.value);
            }}
          />
        </label>
        {error ? (
          <Notice
            tone="warn"
            title={registered ? "The worker is there, but was not told its brief" : "The worker was not made"}
          >
            {refused(error)}{" "}
            {registered ? (
              <SessionLink id={opened} plain>
                Open its session
              </SessionLink>
            ) : null}
          </Notice>
        ) : null}
        <div className="flex justify-end gap-2">
          <Button look="bare" onClick={onClose}>
            {registered ? "Close" : "Cancel"}
          </Button>
          <Button look="primary" type="submit" disabled={busy || !ready}>
            {busy ? "Making…" : error ? "Try again" : "Make worker"}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
