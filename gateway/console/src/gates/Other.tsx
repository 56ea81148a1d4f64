// "Other — specify": what is wanted instead, in one's own words.
import { useState } from "react";
import { Button } from "../ui/Button";
import { submitOnCtrlEnter } from "../ui/submit";
import type { Answering } from "./useAnswer";

interface Props {
  answering: Answering;
  label: string;
  onCancel: () => void;
}

export function Other({ answering, label, onCancel }: Props) {
  const [text, setText] = useState("");
  return (
    <form
      className="flex flex-col gap-2"
      onKeyDown={(event) => {
        submitOnCtrlEnter(event);
        if (event.key !== "Escape") return;
        event.preventDefault();
        onCancel();
      }}
      onSubmit={(event) => {
        event.preventDefault();
        if (text.trim() !== "") answering.send({ value: "other", text: text.trim() });
      }}
    >
      <label className="flex flex-col gap-1">
        <span className="text-sm font-medium">{label}</span>
        <textarea
          className="field min-h-20"
          value={text}
          maxLength={8_000}
          autoFocus
          onChange={(event) => {
            setText(event.target.value);
          }}
        />
      </label>
      <div className="flex gap-2">
        <Button look="primary" type="submit" disabled={answering.busy || text.trim() === ""}>
          Send
        </Button>
        <Button look="bare" onClick={onCancel}>
          Back
        </Button>
      </div>
    </form>
  );
}
