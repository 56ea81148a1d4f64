// The texts that agent and people work on. A locked one is not written by agents.
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { visible } from "../text/visible";
import { Ago } from "../ui/Ago";
import { Button } from "../ui/Button";
import { Notice, ReadError } from "../ui/Notice";
import { lockDocument, useDocuments } from "./api";
import { DocumentDialog } from "./DocumentDialog";
import { planKeys } from "./keys";
import { refused } from "./refused";
import type { Doc } from "./types";

export function Documents({ session }: { session: string }) {
  const client = useQueryClient();
  const query = useDocuments(session);
  const [open, setOpen] = useState<string>();
  const [error, setError] = useState<Error>();
  const lock = async ({ key, locked }: Doc): Promise<void> => {
    setError(undefined);
    try {
      await lockDocument(session, key, !locked);
    } catch (problem) {
      setError(problem as Error);
    } finally {
      void client.invalidateQueries({ queryKey: planKeys.documents(session) });
    }
  };
  const documents = query.data ?? [];
  return (
    <section aria-label="Documents" className="flex flex-col gap-1 border-t border-line px-4 py-3">
      <h3 className="eyebrow">Documents</h3>
      {query.error ? (
        <ReadError error={query.error} what="The documents" onRetry={() => void query.refetch()} />
      ) : null}
      {query.data && documents.length === 0 ? (
        <p className="text-sm text-muted">None yet. Texts that the agent and you both work on stand here.</p>
      ) : null}
      <ul className="flex flex-col">
        {documents.map((document) => (
          <li key={document.key} data-document={document.key} className="flex items-center gap-1">
            <button
              type="button"
              className="-ml-2 min-w-0 flex-1 truncate rounded px-2 py-1 text-left font-mono text-sm hover:bg-sunk max-lg:py-2"
              onClick={() => {
                setOpen(document.key);
              }}
            >
              {visible(document.key)}
            </button>
            <Ago time={document.update_time} className="text-xs text-faint" />
            <Button
              look="bare"
              role="switch"
              aria-checked={document.locked}
              aria-label={`${document.key} is locked against agents`}
              title={document.locked ? "Agents may not write it" : "Agents may write it"}
              className={`!px-2 !text-xs ${document.locked ? "!text-weld" : ""}`}
              onClick={() => void lock(document)}
            >
              {document.locked ? "Locked" : "Lock"}
            </Button>
          </li>
        ))}
      </ul>
      {error ? (
        <Notice tone="warn" title="The lock was not changed">
          {refused(error)}
        </Notice>
      ) : null}
      <div>
        <Button
          look="bare"
          className="-ml-2 !px-2"
          onClick={() => {
            setOpen("");
          }}
        >
          New document…
        </Button>
      </div>
      {open === undefined ? null : (
        <DocumentDialog
          session={session}
          docKey={open}
          onClose={() => {
            setOpen(undefined);
          }}
        />
      )}
    </section>
  );
}
