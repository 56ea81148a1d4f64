// The dialogs that ask for a line or two: giving a thread away, and giving it another title.
import { useState, type ReactNode } from "react";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { submitOnCtrlEnter } from "../ui/submit";

interface HandOffProps {
  onSend: (to: string, note: string) => void;
  onClose: () => void;
}

export function HandOff({ onSend, onClose }: HandOffProps) {
  const [to, setTo] = useState("");
  const [note, setNote] = useState("");
  return (
    <Asking
      title="Hand off"
      submit="Hand off"
      ready={to.trim() !== ""}
      onSubmit={() => {
        onSend(to, note);
      }}
      onClose={onClose}
    >
      <p className="text-sm text-muted">
        It ends here and goes on outside, with whoever you name. Nothing is executed.
      </p>
      <label className="flex flex-col gap-1">
        <span className="text-sm font-medium">To</span>
        <input
          className="field"
          value={to}
          maxLength={200}
          required
          data-autofocus
          autoComplete="off"
          onChange={(event) => {
            setTo(event.target.value);
          }}
        />
      </label>
      <label className="flex flex-col gap-1">
        <span className="text-sm font-medium">Note</span>
        <textarea
          className="field min-h-20"
          value={note}
          maxLength={4_000}
          onChange={(event) => {
            setNote(event.target.value);
          }}
        />
      </label>
    </Asking>
  );
}

interface RenameProps {
  title: string;
  onSend: (title: string) => void;
  onClose: () => void;
}

export function Rename({ title, onSend, onClose }: RenameProps) {
  const [text, setText] = useState(title);
  return (
    <Asking
      title="Rename"
      submit="Rename"
      ready={text.trim() !== "" && text.trim() !== title}
      onSubmit={() => {
        onSend(text);
      }}
      onClose={onClose}
    >
      <label className="flex flex-col gap-1">
        <span className="text-sm font-medium">Title</span>
        <input
          className="field"
          value={text}
          maxLength={200}
          required
          data-autofocus
          autoComplete="off"
          onFocus={(event) => {
            event.target.select();
          }}
          onChange={(event) => {
            setText(event.target.value);
          }}
        />
      </label>
    </Asking>
  );
}

interface AskingProps {
  title: string;
  submit: string;
  ready: boolean;
  onSubmit: () => void;
  onClose: () => void;
  children: ReactNode;
}

function Asking({ title, submit, ready, onSubmit, onClose, children }: AskingProps) {
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        className="flex flex-col gap-4"
        onKeyDown={submitOnCtrlEnter}
        onSubmit={(event) => {
          event.preventDefault();
          if (ready) onSubmit();
        }}
      >
        {children}
        <div className="flex justify-end gap-2">
          <Button look="bare" onClick={onClose}>
            Cancel
          </Button>
          <Button look="primary" type="submit" disabled={!ready}>
            {submit}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
