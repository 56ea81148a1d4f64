// One text and a button: feedback for a redirect, an answer to a question, a corrected intent.
import { useState } from "react";
import { Button } from "../ui/Button";
import { useInView } from "../ui/useInView";
import { submitOnCtrlEnter } from "../ui/submit";

const LIMIT = 4_000;

interface Props {
  label: string;
  hint?: string;
  initial?: string;
  submit: string;
  pending: boolean;
  /** An empty text is an answer too (a bare redirect). */
  mayBeEmpty?: boolean;
  focus?: boolean;
  onSubmit: (text: string) => void;
  onCancel?: () => void;
}

export function TextForm(props: Props) {
  const {
    label,
    hint,
    initial = "",
    submit,
    pending,
    mayBeEmpty = false,
    focus = true,
    onSubmit,
    onCancel,
  } = props;
  const [text, setText] = useState(initial);
  const ready = mayBeEmpty || (text.trim() !== "" && text.trim() !== initial.trim());
  const form = useInView<HTMLFormElement>(focus);
  return (
    <form
      ref={form}
      className="flex flex-col gap-3"
      onKeyDown={(event) => {
        if (event.key === "Escape") onCancel?.();
        submitOnCtrlEnter(event);
      }}
      onSubmit={(event) => {
        event.preventDefault();
        if (ready && !pending) onSubmit(text);
      }}
    >
      <label className="flex flex-col gap-2">
        <span className="text-base font-medium">{label}</span>
        <textarea
          className="field min-h-20 resize-y"
          value={text}
          maxLength={LIMIT}
          autoFocus={focus}
          data-answer
          onChange={(event) => {
            setText(event.target.value);
          }}
        />
      </label>
      <div className="flex flex-wrap items-center justify-end gap-2">
        {hint ? <p className="mr-auto text-sm text-muted">{hint}</p> : null}
        {onCancel ? (
          <Button look="bare" onClick={onCancel}>
            Cancel
          </Button>
        ) : null}
        <Button look="primary" type="submit" disabled={!ready || pending}>
          {pending ? "Sending…" : submit}
        </Button>
      </div>
    </form>
  );
}
