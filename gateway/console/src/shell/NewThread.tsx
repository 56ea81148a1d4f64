// Opens a matter of work: a title, and what is wanted in one's own words.
import { useState } from "react";
import { newKey } from "../api/http";
import { useCreateThread, type NewThread as Draft } from "../api/queries";
import { FormDialog } from "../ui/FormDialog";
import { Labelled } from "../ui/Labelled";

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
    <FormDialog
      title="New thread"
      unsaved={description.trim() !== ""}
      submit={{
        label: create.isPending ? "Opening…" : create.error ? "Try again" : "Open thread",
        disabled: create.isPending || title.trim() === "",
      }}
      refusal={create.error ? { title: "The thread was not opened", why: create.error.message } : undefined}
      onSubmit={submit}
      onClose={onClose}
    >
      <Labelled label="Title">
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
      </Labelled>
      <Labelled label="What should happen">
        <textarea
          className="field min-h-32"
          value={description}
          maxLength={20_000}
          placeholder="In your own words. Nothing is done before you approve it."
          onChange={(event) => {
            setDescription(event.target.value);
          }}
        />
      </Labelled>
    </FormDialog>
  );
}
