// Opens a matter of work: a title, and what is wanted in one's own words.
import { useState } from "react";
import { newKey } from "../api/http";
import { useCreateThread, type NewThread as Draft } from "../api/queries";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { Notice } from "../ui/Notice";
import { submitOnCtrlEnter } from "../ui/submit";

interface Props {
  onClose: () => void;
  onCreated: (id: string) => void;
}

export function NewThread({ onClose, onCreated }: Props) {
  const [title, setTitle] = useState("");
  const [description, setDescription] = useState("");
  const [sent, setSent] = useState<Draft>();
  const create = useCreateThread();

  const submit = (): void => {
    if (create.isPending || title.trim() === "") return;
    const same = sent?.title === title.trim() && sent.description === description.trim();
    const draft = same ? sent : { title: title.trim(), description: description.trim(), key: newKey() };
    setSent(draft);
    create.mutate(draft, {
      onSuccess: (thread) => {
        onCreated(thread.id);
      },
    });
  };

  return (
    <Dialog title="New thread" onClose={onClose}>
      <form
        className="flex flex-col gap-4"
        onKeyDown={submitOnCtrlEnter}
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        <label className="flex flex-col gap-1">
          <span className="text-sm font-medium">Title</span>
          <input
            className="field"
            value={title}
            maxLength={200}
            required
            data-autofocus
            autoComplete="off"
            placeholder="Invoice 2041 is overdue"
            onChange={(event) => {
              setTitle(event.target.value);
            }}
          />
        </label>
        <label className="flex flex-col gap-1">
          <span className="text-sm font-medium">What should happen</span>
          <textarea
            className="field min-h-32"
            value={description}
            maxLength={20_000}
            placeholder="In your own words. Nothing is done before you approve it."
            onChange={(event) => {
              setDescription(event.target.value);
            }}
          />
        </label>
        {create.error ? (
          <Notice tone="warn" title="The thread was not opened">
            {create.error.message}
          </Notice>
        ) : null}
        <div className="flex justify-end gap-2">
          <Button look="bare" onClick={onClose}>
            Cancel
          </Button>
          <Button look="primary" type="submit" disabled={create.isPending || title.trim() === ""}>
            {create.isPending ? "Opening…" : create.error ? "Try again" : "Open thread"}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
