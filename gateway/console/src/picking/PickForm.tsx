// Asks for the parameters of an action that cannot be picked without them.
import { useState } from "react";
import type { ActionOption, ActionParameter, JsonObject } from "../api/types";
import { plainName } from "../text/states";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { submitOnCtrlEnter } from "../ui/submit";
import { filled } from "./options";

interface Props {
  option: ActionOption;
  onPick: (parameters: JsonObject) => void;
  onClose: () => void;
}

export function PickForm({ option, onPick, onClose }: Props) {
  const [texts, setTexts] = useState<Record<string, string>>({});
  const [tried, setTried] = useState(false);
  const result = filled(option, texts);
  return (
    <Dialog title={option.label || plainName(option.capability_name)} onClose={onClose}>
      <form
        className="flex flex-col gap-4"
        noValidate
        onKeyDown={submitOnCtrlEnter}
        onSubmit={(event) => {
          event.preventDefault();
          setTried(true);
          if (result.ok) onPick(result.parameters);
        }}
      >
        {option.description ? <p className="text-sm text-muted">{option.description}</p> : null}
        {(option.parameters ?? []).map((parameter, index) => (
          <Field
            key={parameter.name}
            parameter={parameter}
            first={index === 0}
            text={texts[parameter.name] ?? ""}
            error={tried && !result.ok ? result.errors[parameter.name] : undefined}
            onText={(text) => {
              setTexts({ ...texts, [parameter.name]: text });
            }}
          />
        ))}
        <div className="flex flex-wrap items-center justify-end gap-2">
          <p className="mr-auto text-sm text-muted">Picking approves nothing.</p>
          <Button look="bare" onClick={onClose}>
            Cancel
          </Button>
          <Button look="primary" type="submit">
            Pick
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

interface FieldProps {
  parameter: ActionParameter;
  first: boolean;
  text: string;
  error: string | undefined;
  onText: (text: string) => void;
}

function Field({ parameter, first, text, error, onText }: FieldProps) {
  const { name, type, description, required } = parameter;
  if (type === "boolean") {
    return (
      <label className="flex items-center gap-3">
        <input
          type="checkbox"
          className="size-4 accent-indigo"
          checked={text === "true"}
          onChange={(event) => {
            onText(String(event.target.checked));
          }}
        />
        <span className="font-mono text-sm">{name}</span>
      </label>
    );
  }
  return (
    <label className="flex flex-col gap-1">
      <span className="text-sm">
        <span className="font-mono">{name}</span>
        {required ? null : <span className="text-muted"> · optional</span>}
      </span>
      <textarea
        className="field resize-y font-mono text-sm"
        rows={Math.min(8, Math.max(1, text.split("\n").length))}
        value={text}
        data-autofocus={first}
        aria-invalid={error !== undefined}
        onChange={(event) => {
          onText(event.target.value);
        }}
      />
      {error ? <span className="text-sm text-madder">{error}</span> : null}
      {description ? <span className="text-xs text-muted">{description}</span> : null}
    </label>
  );
}
