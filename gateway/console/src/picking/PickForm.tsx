// Asks for the parameters of an action that cannot be picked without them.
import { useState } from "react";
import type { ActionOption, ActionParameter, JsonObject } from "../api/types";
import { plainName } from "../text/states";
import { CheckRow } from "../ui/CheckRow";
import { FormDialog } from "../ui/FormDialog";
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
    <FormDialog
      title={option.label || plainName(option.capability_name)}
      submit={{ label: "Pick", disabled: false }}
      aside={<p className="text-sm text-muted">Picking approves nothing.</p>}
      onSubmit={() => {
        setTried(true);
        if (result.ok) onPick(result.parameters);
      }}
      onClose={onClose}
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
    </FormDialog>
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
      <CheckRow
        checked={text === "true"}
        onChange={(checked) => {
          onText(String(checked));
        }}
      >
        <span className="font-mono">{name}</span>
      </CheckRow>
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
