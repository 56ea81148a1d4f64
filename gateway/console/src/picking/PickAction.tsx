// Another action for a thread, or none: the list of what can be picked, then its parameters where it needs some.
import { useState } from "react";
import { proposalOf, picked, type Intention } from "../api/decisions";
import { useActionOptions } from "../api/families";
import { newKey } from "../api/http";
import type { ActionOption, JsonObject, Thread } from "../api/types";
import { plainName } from "../text/states";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { ReadError } from "../ui/Notice";
import { Skeleton } from "../ui/Quiet";
import { missing } from "./options";
import { PickForm } from "./PickForm";

interface Props {
  thread: Thread;
  onSend: (intention: Intention) => void;
  onClose: () => void;
}

export function PickAction({ thread, onSend, onClose }: Props) {
  const options = useActionOptions(thread.id);
  const [filling, setFilling] = useState<ActionOption>();
  const pick = (name: string | null, parameters?: JsonObject): void => {
    onSend(picked(name, parameters, newKey()));
  };
  if (filling) {
    return (
      <PickForm
        option={filling}
        onPick={(parameters) => {
          pick(filling.capability_name, parameters);
        }}
        onClose={onClose}
      />
    );
  }
  return (
    <Dialog title="Pick an action" onClose={onClose}>
      <p className="text-sm text-muted">It takes the place of what is proposed. Picking approves nothing.</p>
      {options.isPending ? <Skeleton lines={3} /> : null}
      {options.error ? (
        <ReadError error={options.error} what="The actions" onRetry={() => void options.refetch()} />
      ) : null}
      <ul className="flex max-h-96 flex-col gap-1 overflow-y-auto">
        {(options.data?.action_options ?? []).map((option) => (
          <li key={option.capability_name}>
            <button
              type="button"
              className="w-full rounded-md border border-line px-3 py-2 text-left -outline-offset-2 hover:bg-sunk"
              onClick={() => {
                if (missing(option).length > 0) setFilling(option);
                else pick(option.capability_name, option.default_params ?? {});
              }}
            >
              <span className="block">{option.label || plainName(option.capability_name)}</span>
              {option.description ? (
                <span className="block text-sm text-muted">{option.description}</span>
              ) : null}
            </button>
          </li>
        ))}
      </ul>
      <div className="flex justify-end gap-2">
        {proposalOf(thread) ? (
          <Button
            className="mr-auto"
            onClick={() => {
              pick(null);
            }}
          >
            Clear proposal
          </Button>
        ) : null}
        <Button look="bare" onClick={onClose}>
          Cancel
        </Button>
      </div>
    </Dialog>
  );
}
