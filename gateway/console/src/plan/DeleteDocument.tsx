// Deletes a document, after asking. Earlier turns keep it; what is deleted is the one that was seen.
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { newKey, request } from "../api/http";
import { sessionPath } from "../session/api";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { Notice } from "../ui/Notice";
import { planKeys } from "./keys";
import { refused } from "./refused";

interface Props {
  session: string;
  docKey: string;
  etag: string;
  onDeleted: () => void;
}

export function DeleteDocument({ session, docKey, etag, onDeleted }: Props) {
  const client = useQueryClient();
  const [asking, setAsking] = useState(false);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<Error>();
  const remove = async (): Promise<void> => {
    setBusy(true);
    setError(undefined);
    try {
      const path = `${sessionPath(session)}/documents/${encodeURIComponent(docKey)}`;
      await request(path, { method: "DELETE", key: newKey(), etag });
      onDeleted();
    } catch (problem) {
      setError(problem as Error);
      setBusy(false);
    }
    void client.invalidateQueries({ queryKey: planKeys.documents(session) });
  };
  const close = (): void => {
    setAsking(false);
    setError(undefined);
  };
  return (
    <>
      <Button
        look="bare"
        onClick={() => {
          setAsking(true);
        }}
      >
        Delete…
      </Button>
      {asking ? (
        <Dialog title={`Delete ${docKey}?`} onClose={close}>
          <p className="text-sm text-muted">
            Turns that had it keep it: going on from one of them brings it back. What was written since is
            gone.
          </p>
          {error ? (
            <Notice tone="warn" title="It was not deleted">
              {refused(error)}
            </Notice>
          ) : null}
          <div className="flex justify-end gap-2">
            <Button look="bare" onClick={close}>
              Keep it
            </Button>
            <Button look="danger" data-autofocus disabled={busy} onClick={() => void remove()}>
              {busy ? "Deleting…" : "Delete"}
            </Button>
          </div>
        </Dialog>
      ) : null}
    </>
  );
}
