// Where one writes to the agent: a prompt when it rests, steering while it works.
import { useEffect, useRef, useState } from "react";
import { newKey } from "../api/http";
import { Button } from "../ui/Button";
import { Notice } from "../ui/Notice";
import { submitOnCtrlEnter } from "../ui/submit";
import { say } from "./api";
import type { Action } from "./projection";

interface Props {
  id: string;
  busy: boolean;
  waiting: boolean;
  /** Takes the focus when it appears. */
  focus: boolean;
  dispatch: (action: Action) => void;
}

/** What was not sent yet, by session: it waits while one looks elsewhere. */
const DRAFTS = new Map<string, string>();

export function Composer({ id, busy, waiting, focus, dispatch }: Props) {
  const [text, setText] = useState(() => DRAFTS.get(id) ?? "");
  const [sending, setSending] = useState(false);
  const [error, setError] = useState<Error>();
  const sent = useRef({ verb: "", text: "", key: "" });
  const box = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    if (focus) box.current?.focus();
  }, [focus]);
  useEffect(() => {
    if (text === "") DRAFTS.delete(id);
    else DRAFTS.set(id, text);
  }, [id, text]);
  const verb = busy ? "steer" : "prompt";
  const empty = text.trim() === "";

  const submit = async (): Promise<void> => {
    if (sending || empty) return;
    // The same words again after a failure are the same gesture, and carry the same key.
    const last = sent.current;
    const key = error && last.text === text && last.verb === verb ? last.key : newKey();
    const entry = newKey();
    sent.current = { verb, text, key };
    setSending(true);
    setError(undefined);
    dispatch({ type: "said", key: entry, text, steer: busy });
    try {
      await say(id, verb, text, key);
      setText("");
    } catch (problem) {
      dispatch({ type: "refused", key: entry });
      setError(problem as Error);
    } finally {
      setSending(false);
    }
  };

  const label = busy ? "Steer the agent" : "Prompt";
  return (
    <form
      aria-label={label}
      className="flex flex-col gap-2"
      onKeyDown={submitOnCtrlEnter}
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      {error ? (
        <Notice tone="warn" title={busy ? "The agent was not steered" : "The prompt was not accepted"}>
          {error.message}
        </Notice>
      ) : null}
      <div className="flex items-end gap-2">
        <textarea
          ref={box}
          data-prompt
          aria-label={label}
          className="field max-h-48 min-h-11 flex-1 resize-none [field-sizing:content]"
          rows={1}
          value={text}
          maxLength={32_000}
          placeholder={
            waiting
              ? "Answer above, or steer"
              : busy
                ? "Steer the agent while it works"
                : "What should the agent do?"
          }
          onChange={(event) => {
            setText(event.target.value);
          }}
        />
        <Button
          look="primary"
          type="submit"
          className="!min-h-11"
          disabled={sending || empty}
          title="Ctrl + Enter"
        >
          {sending ? "Sending…" : busy ? "Steer" : "Send"}
        </Button>
      </div>
    </form>
  );
}
