// What a worker has delivered: its `## Result`, or on demand the whole report; large ones page by page.
import { useState } from "react";
import { Markdown } from "../markdown/Markdown";
import { SessionLink } from "../sessions/SessionLink";
import { Ago } from "../ui/Ago";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { Notice, ReadError } from "../ui/Notice";
import { Skeleton } from "../ui/Quiet";
import { useResult } from "./api";
import { Chip } from "./Chip";
import type { Collected, Worker } from "./types";
import { ended, lengthOf, reasonOf, statusOf } from "./words";

interface Props {
  session: string;
  worker: Worker;
  onClose: () => void;
}

export function ResultDialog({ session, worker, onClose }: Props) {
  const [full, setFull] = useState(false);
  const [asText, setAsText] = useState(false);
  const query = useResult(session, worker, full);
  const pages = query.data?.pages ?? [];
  const first = pages[0];
  const text = pages.map(({ result }) => result).join("");
  return (
    <Dialog title={`Result of ${worker.name}`} wide onClose={onClose}>
      <div className="flex flex-wrap items-center gap-2" data-result-facts>
        <Chip tone={statusOf(worker.status).tone}>{statusOf(worker.status).label}</Chip>
        {first ? <Standing worker={worker} first={first} /> : null}
      </div>
      {worker.partial && ended(worker) ? (
        <Notice tone="wait" title="This is partial">
          {reasonOf(worker.reason)} What stands here is what came before.
        </Notice>
      ) : null}
      {worker.late ? (
        <p className="text-sm text-muted">It came after the turn that started this worker had ended.</p>
      ) : null}
      {query.error ? (
        <ReadError error={query.error} what="The result" onRetry={() => void query.refetch()} />
      ) : null}
      {query.isPending ? <Skeleton lines={5} /> : null}
      {first && !first.collected ? (
        <p className="text-sm text-muted">
          {first.hint === "" ? "There is no text to show." : first.hint}{" "}
          {first.worker_session_id === "" ? null : (
            <SessionLink id={first.worker_session_id} plain>
              Open its session
            </SessionLink>
          )}
        </p>
      ) : null}
      {first?.collected ? (
        <>
          <div className="flex flex-wrap items-center gap-1">
            {first.found || full ? (
              <Choices
                label="Which part"
                chosen={full ? "whole" : "section"}
                choices={{ section: "Result", whole: "Whole text" }}
                onChoose={(which) => {
                  setFull(which === "whole");
                }}
              />
            ) : null}
            <Choices
              label="How"
              chosen={asText ? "text" : "typeset"}
              choices={{ typeset: "Typeset", text: "As text" }}
              onChoose={(how) => {
                setAsText(how === "text");
              }}
            />
            <Copy text={text} />
          </div>
          <div
            data-result
            tabIndex={0}
            role="region"
            aria-label="Result"
            className="max-h-[60dvh] overflow-y-auto rounded-md border border-line bg-raised px-4 py-3"
          >
            {asText ? (
              <pre className="whitespace-pre-wrap font-mono text-sm [overflow-wrap:anywhere]">{text}</pre>
            ) : (
              <Markdown text={text} long />
            )}
          </div>
          {query.hasNextPage ? (
            <p className="flex flex-wrap items-center gap-3 text-sm text-muted">
              <span>
                {lengthOf(text).toLocaleString("en-GB")} of {first.result_length.toLocaleString("en-GB")}{" "}
                characters are shown.
              </span>
              <Button disabled={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
                {query.isFetchingNextPage ? "Reading…" : "Read on"}
              </Button>
            </p>
          ) : null}
        </>
      ) : null}
      <div className="flex items-end justify-between gap-2">
        {first?.collected ? (
          <p
            className="min-w-0 truncate font-mono text-xs text-faint"
            title={`SHA-256 ${first.result_sha256}`}
          >
            {first.result_sha256.slice(0, 16)}
          </p>
        ) : (
          <span />
        )}
        <Button onClick={onClose} data-autofocus hint="Esc">
          Close
        </Button>
      </div>
    </Dialog>
  );
}

function Standing({ worker, first }: { worker: Worker; first: Collected }) {
  return (
    <p className="flex flex-wrap gap-x-3 text-xs text-faint">
      {first.collected ? (
        <span>
          {first.final ? "Final report" : ended(worker) ? "Last report" : "Interim report: it still works"}
          {first.version > 1 ? `, version ${first.version}` : ""}
        </span>
      ) : null}
      {first.as_of_time ? (
        <span>
          from <Ago time={first.as_of_time} long />
        </span>
      ) : null}
      {first.result_length > 0 ? <span>{first.result_length.toLocaleString("en-GB")} characters</span> : null}
    </p>
  );
}

function Choices<T extends string>({
  label,
  chosen,
  choices,
  onChoose,
}: {
  label: string;
  chosen: T;
  choices: Record<T, string>;
  onChoose: (choice: T) => void;
}) {
  return (
    <div role="group" aria-label={label} className="flex">
      {(Object.keys(choices) as T[]).map((choice) => (
        <Button
          key={choice}
          look="bare"
          aria-pressed={chosen === choice}
          className="aria-pressed:bg-sunk aria-pressed:text-ink"
          onClick={() => {
            onChoose(choice);
          }}
        >
          {choices[choice]}
        </Button>
      ))}
    </div>
  );
}

function Copy({ text }: { text: string }) {
  const [copied, setCopied] = useState(false);
  if (!("clipboard" in navigator)) return null;
  return (
    <Button
      look="bare"
      className="ml-auto"
      onClick={() => {
        void navigator.clipboard.writeText(text).then(() => {
          setCopied(true);
        });
      }}
    >
      {copied ? "Copied" : "Copy"}
    </Button>
  );
}
