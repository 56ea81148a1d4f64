// Asks before a worker is stopped.
import { useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { newKey } from "../api/http";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { Notice } from "../ui/Notice";
import { submitOnCtrlEnter } from "../ui/submit";
import { cancelWorker } from "./api";
import { workerKeys } from "./keys";
import { refused } from "./refused";
import type { Worker } from "./types";

interface Props {
  session: string;
  worker: Worker;
  onClose: () => void;
}

export function CancelWorker({ session, worker, onClose }: Props) {
  const client = useQueryClient();
  const [reason, setReason] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<Error>();
  const key = useRef(newKey());
  const submit = async (): Promise<void> => {
    if (busy) return;
    setBusy(true);
    setError(undefined);
    try {
      await cancelWorker(session, worker.name, reason.trim(), key.current);
      onClose();
    } catch (problem) {
      setError(problem as Error);
      key.current = newKey();
    } finally {
      setBusy(false);
      void client.invalidateQueries({ queryKey: workerKeys.roster(session) });
    }
  };
  return (
    <Dialog title={`Cancel ${worker.name}?`} onClose={onClose}>
      <form
        className="flex flex-col gap-4"
        onKeyDown={submitOnCtrlEnter}
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <p className="text-sm text-muted">
          {worker.status === "spawning"
            ? "No runner has taken it: it is cancelled at once."
            : "It is asked to stop. What it has written so far is kept; a result that is faster than the stop wins."}
        </p>
        <label className="flex flex-col gap-1">
          <span className="text-sm font-medium">Why</span>
          <input
            className="field"
            value={reason}
            maxLength={500}
            autoComplete="off"
            placeholder="For the record; may stay empty"
            onChange={(event) => {
              setReason(event.target.value);
            }}
          />
        </label>
        {error ? (
          <Notice tone="warn" title="It was not cancelled">
            {refused(error)}
          </Notice>
        ) : null}
        <div className="flex justify-end gap-2">
          <Button look="bare" onClick={onClose}>
            Let it work
          </Button>
          <Button look="danger" type="submit" disabled={busy} data-autofocus>
            {busy ? "Cancelling…" : "Cancel worker"}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
