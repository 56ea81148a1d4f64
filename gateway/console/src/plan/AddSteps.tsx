// Writes steps, one a line: at the end of the plan, or under a step.
import { useState } from "react";
import { Button } from "../ui/Button";
import { submitOnCtrlEnter } from "../ui/submit";
import type { Commands } from "./useCommand";

interface Props {
  label: string;
  /** Id of the step that gets them. */
  under?: string;
  commands: Commands;
  onDone?: () => void;
}

export function AddSteps({ label, under, commands, onDone }: Props) {
  const [text, setText] = useState("");
  const items = text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
  const submit = async (): Promise<void> => {
    if (items.length === 0 || commands.busy) return;
    const added = await commands.run((steps) => {
      if (under === undefined) return { verb: "add", body: { items } };
      const at = steps.findIndex(({ id }) => id === under);
      return at === -1 ? undefined : { verb: "add", body: { items, parent_index: at + 1 } };
    });
    if (!added) return;
    setText("");
    onDone?.();
  };
  return (
    <form
      className="flex items-end gap-2"
      onKeyDown={(event) => {
        if (event.key === "Escape" && onDone) {
          event.preventDefault();
          onDone();
        }
        if (event.key === "Enter" && !event.shiftKey && !event.ctrlKey && !event.nativeEvent.isComposing) {
          event.preventDefault();
          void submit();
        }
        submitOnCtrlEnter(event);
      }}
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <textarea
        aria-label={label}
        title="Enter adds; Shift + Enter begins another step"
        placeholder={under === undefined ? "Add a step" : "Add a step below it"}
        rows={1}
        autoFocus={under !== undefined}
        className="field max-h-40 min-h-9 flex-1 resize-none !py-1.5 !text-sm [field-sizing:content]"
        value={text}
        onChange={(event) => {
          setText(event.target.value);
        }}
      />
      <Button type="submit" disabled={items.length === 0 || commands.busy}>
        {items.length > 1 ? `Add ${String(items.length)}` : "Add"}
      </Button>
    </form>
  );
}
