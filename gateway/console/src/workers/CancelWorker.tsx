// Asks before a worker is stopped.
import { useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { newKey } from "../api/http";
import { FormDialog } from "../ui/FormDialog";
import { Labelled } from "../ui/Labelled";
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
    <FormDialog
      title={`Cancel ${worker.name}?`}
      submit={{ label: busy ? "Cancelling…" : "Cancel worker", look: "danger", disabled: busy, focus: true }}
      cancel="Let it work"
      refusal={error && { title: "It was not cancelled", why: refused(error) }}
      onSubmit={() => void submit()}
      onClose={onClose}
    >
      <p className="text-sm text-muted">
        {worker.status === "spawning"
          ? "No runner has taken it: it is cancelled at once."
          : "It is asked to stop. What it has written so far is kept; a result that is faster than the stop wins."}
      </p>
      <Labelled label="Why">
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
      </Labelled>
    </FormDialog>
  );
}
