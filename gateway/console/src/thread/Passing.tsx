// The dialogs that ask for a line or two: giving a thread away, and giving it another title.
import { useState } from "react";
import { FormDialog } from "../ui/FormDialog";
import { Labelled } from "../ui/Labelled";

interface HandOffProps {
  onSend: (to: string, note: string) => void;
  onClose: () => void;
}

export function HandOff({ onSend, onClose }: HandOffProps) {
  const [to, setTo] = useState("");
  const [note, setNote] = useState("");
  return (
    <FormDialog
      title="Hand off"
      submit={{ label: "Hand off", disabled: to.trim() === "" }}
      onSubmit={() => {
        onSend(to, note);
      }}
      onClose={onClose}
    >
      <p className="text-sm text-muted">
        It ends here and goes on outside, with whoever you name. Nothing is executed.
      </p>
      <Labelled label="To">
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
      </Labelled>
      <Labelled label="Note">
        <textarea
          className="field min-h-20"
          value={note}
          maxLength={4_000}
          onChange={(event) => {
            setNote(event.target.value);
          }}
        />
      </Labelled>
    </FormDialog>
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
    <FormDialog
      title="Rename"
      submit={{ label: "Rename", disabled: text.trim() === "" || text.trim() === title }}
      onSubmit={() => {
        onSend(text);
      }}
      onClose={onClose}
    >
      <Labelled label="Title">
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
      </Labelled>
    </FormDialog>
  );
}
