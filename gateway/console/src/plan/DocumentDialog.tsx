// One document: read, write, and be told when somebody else wrote meanwhile.
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Problem } from "../api/http";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { Notice, ReadError } from "../ui/Notice";
import { Skeleton } from "../ui/Quiet";
import { submitOnCtrlEnter } from "../ui/submit";
import { putDocument, useDocument } from "./api";
import { DeleteDocument } from "./DeleteDocument";
import { planKeys } from "./keys";
import { refused } from "./refused";

const KEY = /^(?!\.{1,2}$)[A-Za-z0-9_.-]{1,64}$/;

interface Props {
  session: string;
  /** Empty: a new one. */
  docKey: string;
  onClose: () => void;
}

export function DocumentDialog({ session, docKey, onClose }: Props) {
  const client = useQueryClient();
  const fresh = docKey === "";
  const query = useDocument(session, docKey);
  const [key, setKey] = useState(docKey);
  const [draft, setDraft] = useState<{ text: string; etag: string }>();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<Error>();
  const text = draft?.text ?? query.data?.content ?? "";
  const etag = draft?.etag ?? query.data?.etag ?? "";
  const unsaved = draft !== undefined && draft.text !== (query.data?.content ?? "");
  const overtaken = draft !== undefined && query.data !== undefined && query.data.etag !== draft.etag;
  const save = async (): Promise<void> => {
    if (busy || !KEY.test(key)) return;
    setBusy(true);
    setError(undefined);
    try {
      await putDocument(session, key, text, etag);
      void client.invalidateQueries({ queryKey: planKeys.documents(session) });
      onClose();
    } catch (problem) {
      if (problem instanceof Problem && problem.status === 412)
        await client.invalidateQueries({ queryKey: planKeys.document(session, key) });
      else setError(problem as Error);
      setBusy(false);
    }
  };
  return (
    <Dialog title={fresh ? "New document" : docKey} wide unsaved={unsaved} onClose={onClose}>
      {query.error && !fresh ? (
        <ReadError error={query.error} what="The document" onRetry={() => void query.refetch()} />
      ) : null}
      {query.isPending && !fresh ? <Skeleton lines={6} /> : null}
      {fresh || query.data ? (
        <form
          className="flex flex-col gap-4"
          onKeyDown={submitOnCtrlEnter}
          onSubmit={(event) => {
            event.preventDefault();
            void save();
          }}
        >
          {fresh ? (
            <label className="flex flex-col gap-1">
              <span className="text-sm font-medium">Key</span>
              <input
                className="field font-mono"
                value={key}
                maxLength={64}
                required
                autoComplete="off"
                spellCheck={false}
                placeholder="notes.md"
                aria-invalid={key !== "" && !KEY.test(key)}
                data-autofocus
                onChange={(event) => {
                  setKey(event.target.value);
                }}
              />
              <span className="text-xs text-faint">Letters, digits, _ . and -, at most 64.</span>
            </label>
          ) : null}
          <textarea
            aria-label="Content"
            className="field min-h-[45dvh] !font-mono !text-sm"
            value={text}
            spellCheck={false}
            onChange={(event) => {
              setDraft({ text: event.target.value, etag });
            }}
          />
          {overtaken ? (
            <Notice
              tone="wait"
              title="It was changed while you wrote"
              actions={
                <>
                  <Button
                    onClick={() => {
                      setDraft({ text, etag: query.data.etag });
                      setBusy(false);
                    }}
                  >
                    Keep mine
                  </Button>
                  <Button
                    look="bare"
                    onClick={() => {
                      setDraft(undefined);
                      setBusy(false);
                    }}
                  >
                    Take theirs
                  </Button>
                </>
              }
            >
              {query.data.updated_by === "agent" ? "The agent" : "Somebody"} wrote it too. Yours is not saved.
            </Notice>
          ) : null}
          {error ? (
            <Notice tone="warn" title="It was not saved">
              {refused(error)}
            </Notice>
          ) : null}
          <div className="flex flex-wrap items-center justify-end gap-2">
            {query.data?.locked ? (
              <span className="text-xs text-weld">Locked: agents may not write it.</span>
            ) : null}
            <span className="flex-1" />
            {fresh ? null : (
              <DeleteDocument session={session} docKey={docKey} etag={etag} onDeleted={onClose} />
            )}
            <Button look="bare" onClick={onClose}>
              {draft ? "Cancel" : "Close"}
            </Button>
            <Button
              look="primary"
              type="submit"
              disabled={busy || overtaken || (fresh ? !KEY.test(key) : draft === undefined)}
            >
              {busy ? "Saving…" : "Save"}
            </Button>
          </div>
        </form>
      ) : null}
    </Dialog>
  );
}
