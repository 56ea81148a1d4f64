// What another branch's plan has that this one has not; some of it, or all, is taken over here.
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { visible } from "../text/visible";
import { Button } from "../ui/Button";
import { CheckRow } from "../ui/CheckRow";
import { Notice, ReadError } from "../ui/Notice";
import { Skeleton } from "../ui/Quiet";
import { cherryPick, useDiff } from "./api";
import { planKeys } from "./keys";
import { refusedPick } from "./refused";
import type { Change, ChangeKind, Diff } from "./types";

const WORDS: Record<ChangeKind, { label: string; colour: string }> = {
  added: { label: "only there", colour: "text-moss" },
  removed: { label: "only here", colour: "text-madder" },
  moved: { label: "moved", colour: "text-indigo" },
  edited: { label: "other words", colour: "text-weld" },
  toggled: { label: "other state", colour: "text-weld" },
};

interface Props {
  session: string;
  other: string;
  name: string;
}

export function DiffView({ session, other, name }: Props) {
  const query = useDiff(session, other);
  const diff = query.data;
  if (query.error)
    return <ReadError error={query.error} what="The difference" onRetry={() => void query.refetch()} />;
  if (!diff) return <Skeleton lines={4} />;
  if (diff.changes.length === 0 && !diff.objective_changed)
    return <p className="text-sm text-muted">Objective and steps are the same in both.</p>;
  return <Picking session={session} other={other} name={name} diff={diff} />;
}

function Picking({ session, other, name, diff }: Props & { diff: Diff }) {
  const client = useQueryClient();
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [objective, setObjective] = useState(false);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<Error>();
  const [done, setDone] = useState(false);
  const all = diff.changes.map(({ origin_id }) => origin_id);
  const picked = all.filter((id) => chosen.has(id));
  const toggle = (id: string): void => {
    const next = new Set(chosen);
    if (!next.delete(id)) next.add(id);
    setChosen(next);
  };
  const take = async (): Promise<void> => {
    setBusy(true);
    setError(undefined);
    setDone(false);
    try {
      await cherryPick(session, {
        source: other,
        origin_ids: picked,
        objective: objective && diff.objective_changed,
        expected_version: diff.version,
        source_version: diff.other_version,
      });
      setChosen(new Set());
      setObjective(false);
      setDone(true);
    } catch (problem) {
      setError(problem as Error);
    } finally {
      setBusy(false);
      void client.invalidateQueries({ queryKey: planKeys.all(session) });
    }
  };
  return (
    <div className="flex flex-col gap-3">
      <p className="text-sm text-muted">What is ticked becomes here as it is in {visible(name)}.</p>
      <ul className="max-h-[50dvh] overflow-y-auto rounded-md border border-line">
        {diff.objective_changed ? (
          <li data-change="objective" className="border-b border-line">
            <CheckRow className="px-3 py-2 hover:bg-sunk" checked={objective} onChange={setObjective}>
              <span className="min-w-0 flex-1 text-sm [overflow-wrap:anywhere]">
                <span className="eyebrow block">Objective</span>
                <Was text={diff.objective} /> <Is text={diff.other_objective} />
              </span>
            </CheckRow>
          </li>
        ) : null}
        {diff.changes.map((change) => (
          <li
            key={change.origin_id}
            data-change={change.kinds.join(" ")}
            className="border-b border-line last:border-b-0"
          >
            <CheckRow
              className="px-3 py-2 hover:bg-sunk"
              checked={chosen.has(change.origin_id)}
              onChange={() => {
                toggle(change.origin_id);
              }}
            >
              <Words change={change} />
            </CheckRow>
          </li>
        ))}
      </ul>
      {error ? (
        <Notice tone="warn" title="Nothing was taken over">
          {refusedPick(error, diff)}
        </Notice>
      ) : null}
      {done ? <Notice tone="done" title="Taken over" /> : null}
      <div className="flex flex-wrap justify-end gap-2">
        <Button
          look="bare"
          onClick={() => {
            setChosen(picked.length === all.length ? new Set() : new Set(all));
            setObjective(picked.length !== all.length && diff.objective_changed);
          }}
        >
          {picked.length === all.length && all.length > 0 ? "Tick none" : "Tick all"}
        </Button>
        <Button
          look="primary"
          disabled={busy || (picked.length === 0 && !objective)}
          onClick={() => void take()}
        >
          {busy ? "Taking over…" : "Take over"}
        </Button>
      </div>
    </div>
  );
}

function Words({ change: { kinds, before, after } }: { change: Change }) {
  const edited = kinds.includes("edited");
  const step = after ?? before;
  return (
    <span className="min-w-0 flex-1 text-sm [overflow-wrap:anywhere]">
      <span className="mr-2 font-mono text-xs text-faint">
        {kinds.includes("moved") ? `${before?.number ?? ""} → ${after?.number ?? ""}` : step?.number}
      </span>{" "}
      {edited ? (
        <>
          <Was text={before?.text ?? ""} /> <Is text={after?.text ?? ""} />
        </>
      ) : (
        <span>{visible(step?.text ?? "")}</span>
      )}
      <span className="ml-2 inline-flex flex-wrap gap-2 text-xs">
        {kinds.map((kind) => (
          <span key={kind} className={WORDS[kind].colour}>
            {kind === "toggled" ? (after?.done ? "done there" : "open there") : WORDS[kind].label}
          </span>
        ))}
      </span>
    </span>
  );
}

function Was({ text }: { text: string }) {
  return text === "" ? null : <del className="text-muted">{visible(text)}</del>;
}

function Is({ text }: { text: string }) {
  return text === "" ? (
    <em className="text-muted">none</em>
  ) : (
    <ins className="no-underline">{visible(text)}</ins>
  );
}
