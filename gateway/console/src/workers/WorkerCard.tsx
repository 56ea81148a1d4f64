// One worker: where it stands on one line, and on demand all that can be known of it and done with it.
import { useId, useState } from "react";
import { SessionLink } from "../sessions/SessionLink";
import { visible } from "../text/visible";
import { Ago } from "../ui/Ago";
import { Button } from "../ui/Button";
import { Dot } from "../ui/State";
import { CancelWorker } from "./CancelWorker";
import { Chip } from "./Chip";
import { MarkStatus } from "./MarkStatus";
import { Notes } from "./Notes";
import { ResultDialog } from "./ResultDialog";
import type { Worker } from "./types";
import { ended, marksOf, reasonOf, sessionOf, statusOf } from "./words";

export function WorkerCard({ session, worker }: { session: string; worker: Worker }) {
  const [open, setOpen] = useState(false);
  const [dialog, setDialog] = useState<"result" | "cancel">();
  const details = useId();
  const { label, tone } = statusOf(worker.status);
  const over = ended(worker);
  const marks = marksOf(worker);
  const itsSession = sessionOf(worker);
  const close = (): void => {
    setDialog(undefined);
  };
  return (
    <li data-worker={worker.name} data-worker-status={worker.status} className="border-b border-line">
      <button
        type="button"
        aria-expanded={open}
        aria-controls={details}
        onClick={() => {
          setOpen(!open);
        }}
        className="flex w-full flex-col gap-1 px-4 py-2 text-left -outline-offset-2 hover:bg-sunk focus-visible:-outline-offset-2"
      >
        <span className="flex w-full items-center gap-2">
          <Dot tone={tone} />
          <span className="min-w-0 flex-1 truncate font-mono text-sm font-medium">{worker.name}</span>
          <Chip tone={tone}>{label}</Chip>
          <Ago
            time={worker.end_time ?? worker.start_time ?? worker.create_time}
            className="text-xs text-faint"
          />
          <span aria-hidden className={`text-faint transition-transform ${open ? "rotate-90" : ""}`}>
            ›
          </span>
        </span>
        {over && worker.reason !== "completed" && worker.reason !== "" ? (
          <span className="pl-4 text-xs text-madder">{reasonOf(worker.reason)}</span>
        ) : null}
        <span
          className={`own-way pl-4 text-xs text-muted [overflow-wrap:anywhere] ${open ? "" : "line-clamp-2"}`}
        >
          {open ? "" : visible(worker.brief)}
        </span>
        {marks.length > 0 ? (
          <span className="flex flex-wrap gap-1 pl-4">
            {marks.map(({ text, tone, why }) => (
              <Chip key={text} tone={tone} title={why}>
                {text}
              </Chip>
            ))}
          </span>
        ) : null}
      </button>
      <div className="flex flex-wrap gap-1 px-4 pb-2 pl-6">
        {worker.has_result ? (
          <Button
            look="bare"
            className="!px-2"
            onClick={() => {
              setDialog("result");
            }}
          >
            {over ? "Result" : "Interim result"}
          </Button>
        ) : null}
        {itsSession === undefined ? null : (
          <SessionLink id={itsSession} label={`Session of ${worker.name}`}>
            {worker.waiting && !over ? "Answer it" : over ? "Session" : "Watch"}
          </SessionLink>
        )}
        {worker.kind === "session" ? <MarkStatus session={session} worker={worker} /> : null}
        {over || worker.cancel_requested ? null : (
          <Button
            look="bare"
            className="!px-2"
            aria-label={`Cancel ${worker.name}`}
            onClick={() => {
              setDialog("cancel");
            }}
          >
            Cancel
          </Button>
        )}
      </div>
      <div id={details} className={open ? "flex flex-col gap-3 px-4 pb-3 pl-8" : "hidden"}>
        {open ? (
          <>
            <div>
              <h3 className="eyebrow">Brief</h3>
              <p className="whitespace-pre-wrap text-sm [overflow-wrap:anywhere]">{visible(worker.brief)}</p>
            </div>
            <Facts worker={worker} />
            <Notes session={session} name={worker.name} count={worker.note_count} />
          </>
        ) : null}
      </div>
      {dialog === "result" ? <ResultDialog session={session} worker={worker} onClose={close} /> : null}
      {dialog === "cancel" ? <CancelWorker session={session} worker={worker} onClose={close} /> : null}
    </li>
  );
}

function Facts({ worker }: { worker: Worker }) {
  const facts: [string, React.ReactNode][] = [];
  const marks = marksOf(worker);
  if (worker.reason !== "") facts.push(["Why", reasonOf(worker.reason)]);
  if (worker.cancel_reason !== "") facts.push(["Said of it", worker.cancel_reason]);
  for (const { text, why } of marks) facts.push([text, why]);
  if (worker.start_time) facts.push(["Taken", <Ago key="s" time={worker.start_time} long />]);
  if (worker.end_time) facts.push(["Ended", <Ago key="e" time={worker.end_time} long />]);
  else if (worker.expire_time) facts.push(["Time is up", <Ago key="x" time={worker.expire_time} ahead />]);
  if (facts.length === 0) return null;
  return (
    <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-3 gap-y-1 text-sm">
      {facts.map(([name, value]) => (
        <div key={name} className="contents">
          <dt className="text-xs leading-[18px] text-faint">{name}</dt>
          <dd className="min-w-0">{value}</dd>
        </div>
      ))}
    </dl>
  );
}
