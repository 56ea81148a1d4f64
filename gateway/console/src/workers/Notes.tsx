// A list of notes, a worker's or the coordinator's own, and the box to write one. What had to go for it is told.
import { useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { newKey } from "../api/http";
import { useFollow } from "../session/useFollow";
import { visible } from "../text/visible";
import { Ago } from "../ui/Ago";
import { Button } from "../ui/Button";
import { Notice, ReadError } from "../ui/Notice";
import { submitOnCtrlEnter } from "../ui/submit";
import { addNote, useNotes } from "./api";
import { workerKeys } from "./keys";
import { refused } from "./refused";
import { lengthOf, NOTE_LIMIT, writerOf } from "./words";

interface Props {
  session: string;
  /** The worker's; empty: the coordinator's own. */
  name: string;
  count: number;
}

export function Notes({ session, name, count }: Props) {
  const client = useQueryClient();
  const query = useNotes(session, name, count > 0);
  const [text, setText] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<Error>();
  const [dropped, setDropped] = useState<string>();
  const sent = useRef({ text: "", key: "" });
  const { scroller, onScroll } = useFollow<HTMLUListElement>();
  const length = lengthOf(text.trim());
  const over = length > NOTE_LIMIT;

  const submit = async (): Promise<void> => {
    const note = text.trim();
    if (busy || note === "" || over) return;
    if (sent.current.text !== note) sent.current = { text: note, key: newKey() };
    setBusy(true);
    setError(undefined);
    setDropped(undefined);
    try {
      const answer = await addNote(session, name, note, sent.current.key);
      sent.current = { text: "", key: "" };
      setText("");
      setDropped(answer.evicted_note?.text);
      await client.invalidateQueries({ queryKey: workerKeys.roster(session) });
    } catch (problem) {
      setError(problem as Error);
    } finally {
      setBusy(false);
    }
  };
  const whose = name === "" ? "Coordinator's notes" : "Notes";
  return (
    <div className="flex flex-col gap-2">
      <h3 className="eyebrow">
        {whose}
        {count > 0 ? ` · ${count}` : ""}
      </h3>
      {query.error ? (
        <ReadError error={query.error} what="The notes" onRetry={() => void query.refetch()} />
      ) : null}
      {query.data && query.data.length > 0 ? (
        <ul
          ref={scroller}
          onScroll={onScroll}
          tabIndex={0}
          aria-label={whose}
          className="flex max-h-72 flex-col gap-2 overflow-y-auto rounded"
        >
          {query.data.map((note) => (
            <li key={note.sequence} data-note className="border-l-2 border-line-strong pl-2">
              <p className="whitespace-pre-wrap text-sm [overflow-wrap:anywhere]">{visible(note.text)}</p>
              <p className="text-xs text-faint">
                {visible(writerOf(note.by, session))} · <Ago time={note.create_time} />
              </p>
            </li>
          ))}
        </ul>
      ) : null}
      {dropped === undefined ? null : (
        <Notice tone="wait" title="The oldest note was dropped">
          A list keeps its newest 50. Gone: “
          {visible(dropped.length > 200 ? `${dropped.slice(0, 200)}…` : dropped)}”
        </Notice>
      )}
      {error ? (
        <Notice tone="warn" title="The note was not written">
          {refused(error)}
        </Notice>
      ) : null}
      <form
        className="flex items-end gap-2"
        onKeyDown={submitOnCtrlEnter}
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <textarea
          aria-label={name === "" ? "Note for the coordinator" : `Note on ${name}`}
          placeholder={name === "" ? "A note for the coordinator" : "A note for this worker"}
          rows={1}
          className="field max-h-40 min-h-9 flex-1 resize-none !py-1.5 !text-sm [field-sizing:content]"
          value={text}
          onChange={(event) => {
            setText(event.target.value);
          }}
        />
        <Button type="submit" disabled={busy || length === 0 || over} title="Ctrl + Enter">
          {busy ? "Writing…" : "Note"}
        </Button>
      </form>
      {length > NOTE_LIMIT - 200 ? (
        <p className={`text-xs ${over ? "text-madder" : "text-faint"}`}>
          {length} of {NOTE_LIMIT} characters
        </p>
      ) : null}
    </div>
  );
}
