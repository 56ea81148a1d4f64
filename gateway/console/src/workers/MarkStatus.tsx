// A registered worker runs by hand: people say how it stands, and hand over what its session said last.
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { newKey } from "../api/http";
import { lastAnswer } from "../session/api";
import { LOOKS } from "../ui/Button";
import { Menu, type Choice } from "../ui/Menu";
import { Notice } from "../ui/Notice";
import { markWorker, reportResult } from "./api";
import { workerKeys } from "./keys";
import { refused } from "./refused";
import type { Worker, WorkerStatus } from "./types";
import { ended, sessionOf, statusOf } from "./words";

const OFFERED: readonly WorkerStatus[] = ["running", "succeeded", "failed", "interrupted", "unknown"];

export function MarkStatus({ session, worker }: { session: string; worker: Worker }) {
  const client = useQueryClient();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string>();
  const run = async (action: () => Promise<unknown>): Promise<void> => {
    setBusy(true);
    setError(undefined);
    try {
      await action();
    } catch (problem) {
      setError(refused(problem as Error));
    } finally {
      setBusy(false);
      void client.invalidateQueries({ queryKey: workerKeys.roster(session) });
    }
  };
  if (ended(worker)) return null;
  const from = sessionOf(worker);
  const deliver: Choice[] =
    from === undefined
      ? []
      : [
          {
            id: "deliver",
            label: "Done: take its last answer",
            detail: "What its session said last becomes its result.",
            onPick: () =>
              void run(async () => {
                const text = await lastAnswer(from);
                if (text.trim() === "") throw new Error("Its session has not answered anything yet.");
                await reportResult(session, worker.name, text, newKey());
              }),
          },
        ];
  const marks = OFFERED.filter((status) => status !== worker.status).map((status, index) => ({
    id: status,
    label: `Mark as ${statusOf(status).label.toLowerCase()}`,
    apart: index === 0,
    onPick: () => void run(() => markWorker(session, worker.name, status)),
  }));
  return (
    <>
      <Menu
        label={`Mark as…: how ${worker.name} stands`}
        disabled={busy}
        className={`inline-flex min-h-8 items-center rounded-md px-2 text-sm max-lg:min-h-10 ${LOOKS.bare}`}
        choices={[...deliver, ...marks]}
      >
        Mark as…
      </Menu>
      {error ? (
        <div className="order-last basis-full">
          <Notice tone="warn" title="It was not marked">
            {error}
          </Notice>
        </div>
      ) : null}
    </>
  );
}
