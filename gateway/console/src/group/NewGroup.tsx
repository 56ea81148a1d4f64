// The place behind the last column: a press asks for a name, items that are dropped on it get a group of their own.
import { useState } from "react";
import { Button } from "../ui/Button";
import { NEW } from "./MovePicker";

interface Props {
  over: boolean;
  busy: boolean;
  onSpawn: (label: string) => void;
}

export function NewGroup({ over, busy, onSpawn }: Props) {
  const [label, setLabel] = useState<string>();
  const shape = "shrink-0 rounded-xl border border-dashed max-sm:w-full";
  if (label !== undefined) {
    return (
      <form
        data-drop={NEW}
        aria-label="New group"
        className={`flex flex-col gap-3 self-start border-line-strong bg-raised p-3 w-72 ${shape}`}
        onKeyDown={(event) => {
          if (event.key !== "Escape") return;
          event.stopPropagation();
          setLabel(undefined);
        }}
        onSubmit={(event) => {
          event.preventDefault();
          setLabel(undefined);
          onSpawn(label.trim());
        }}
      >
        <label className="flex flex-col gap-1">
          <span className="text-sm font-medium">Name of the group</span>
          <input
            className="field"
            autoFocus
            autoComplete="off"
            maxLength={200}
            placeholder="New group"
            value={label}
            onChange={(event) => {
              setLabel(event.target.value);
            }}
          />
        </label>
        <div className="flex justify-end gap-2">
          <Button
            look="bare"
            onClick={() => {
              setLabel(undefined);
            }}
          >
            Cancel
          </Button>
          <Button look="primary" type="submit">
            Make it
          </Button>
        </div>
      </form>
    );
  }
  return (
    <button
      type="button"
      data-drop={NEW}
      disabled={busy}
      className={`min-h-24 w-44 text-sm ${shape} ${over ? "border-indigo bg-indigo-wash text-indigo" : "border-line-strong text-muted hover:bg-sunk hover:text-ink"}`}
      onClick={() => {
        setLabel("");
      }}
    >
      {busy ? "Making it…" : over ? "Drop for a new group" : "+ New group"}
    </button>
  );
}
