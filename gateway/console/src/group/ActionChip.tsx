// What a column's action is, and the list to pick another one or none. Picking approves nothing.
import { useState } from "react";
import { proposalOf } from "../api/decisions";
import type { ActionOption, JsonObject, Thread } from "../api/types";
import { plainName } from "../text/states";
import { visible } from "../text/visible";
import { Menu, type Choice } from "../ui/Menu";
import { pickable } from "./placing";
import { missing } from "../picking/options";
import { PickForm } from "../picking/PickForm";

interface Props {
  thread: Thread;
  options: readonly ActionOption[];
  busy: boolean;
  onPick: (capability: string, parameters: JsonObject) => void;
  onClear: () => void;
}

export function ActionChip({ thread, options, busy, onPick, onClear }: Props) {
  const [filling, setFilling] = useState<ActionOption>();
  const action = proposalOf(thread);
  const can = pickable(thread);
  const pick = (option: ActionOption): void => {
    if (missing(option).length > 0) setFilling(option);
    else onPick(option.capability_name, option.default_params ?? {});
  };
  const choices = options.map((option): Choice => ({
    id: option.capability_name,
    label: option.label || plainName(option.capability_name),
    detail: option.description,
    onPick: () => {
      pick(option);
    },
  }));
  if (action) choices.push({ id: "", label: "Clear proposal", apart: true, onPick: onClear });
  const text = action ? visible(action.name) : can ? "No action" : "No action yet";
  return (
    <>
      <Menu
        label={`Action of ${visible(thread.title)}: ${text}`}
        choices={choices}
        empty="No action can be picked here."
        disabled={busy || !can}
        className={`inline-flex min-h-8 min-w-0 max-w-full items-center gap-2 rounded-md border px-2 text-sm disabled:opacity-60 max-lg:min-h-10 ${action ? "border-line-strong bg-raised font-mono" : "border-dashed border-line-strong text-muted"}`}
      >
        <span data-chip className="truncate">
          {text}
        </span>
        {can ? (
          <span aria-hidden className="text-xs text-faint">
            ▾
          </span>
        ) : null}
      </Menu>
      {filling ? (
        <PickForm
          option={filling}
          onPick={(parameters) => {
            setFilling(undefined);
            onPick(filling.capability_name, parameters);
          }}
          onClose={() => {
            setFilling(undefined);
          }}
        />
      ) : null}
    </>
  );
}
