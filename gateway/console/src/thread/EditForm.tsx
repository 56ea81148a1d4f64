// Changes an action's parameters before it is approved: a field for each, or the whole as JSON.
import { useId, useState } from "react";
import type { Action, Json, JsonObject } from "../api/types";
import { Button } from "../ui/Button";
import { CheckRow } from "../ui/CheckRow";
import { useInView } from "../ui/useInView";
import { submitOnCtrlEnter } from "../ui/submit";
import { changesOf, draftsOf, kindOf, parseObject, type Draft } from "./parameters";

interface Props {
  action: Action;
  pending: boolean;
  onOverrides: (changed: JsonObject) => void;
  onReplace: (parameters: JsonObject) => void;
  onCancel: () => void;
}

export function EditForm({ action, pending, onOverrides, onReplace, onCancel }: Props) {
  const parameters = action.parameters ?? {};
  const [drafts, setDrafts] = useState<Draft>(() => draftsOf(parameters));
  const [json, setJson] = useState<string>();
  const { changed, errors } = changesOf(parameters, drafts);
  const whole = json === undefined ? undefined : parseObject(json);
  const untouched =
    whole === undefined
      ? Object.keys(changed).length === 0
      : whole.ok && JSON.stringify(whole.value) === JSON.stringify(parameters);
  const broken = whole === undefined ? Object.keys(errors).length > 0 : !whole.ok;

  const submit = (): void => {
    if (pending || broken || untouched) return;
    if (whole === undefined) onOverrides(changed);
    else if (whole.ok) onReplace(whole.value);
  };

  const form = useInView<HTMLFormElement>(true);
  return (
    <form
      ref={form}
      aria-label="Edit parameters"
      className="flex flex-col gap-3"
      onKeyDown={(event) => {
        if (event.key === "Escape") onCancel();
        submitOnCtrlEnter(event);
      }}
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <div className="flex items-baseline justify-between gap-3">
        <p className="eyebrow">
          Edit <span className="font-mono normal-case tracking-normal text-ink">{action.name}</span>
        </p>
        <Button
          look="bare"
          onClick={() => {
            setJson(json === undefined ? JSON.stringify({ ...parameters, ...changed }, null, 2) : undefined);
          }}
        >
          {json === undefined ? "As JSON" : "As fields"}
        </Button>
      </div>
      {json === undefined ? (
        Object.entries(parameters).map(([name, value], index) => (
          <Field
            key={name}
            name={name}
            value={value}
            text={drafts[name] ?? ""}
            error={errors[name]}
            first={index === 0}
            onText={(text) => {
              setDrafts({ ...drafts, [name]: text });
            }}
          />
        ))
      ) : (
        <label className="flex flex-col gap-1">
          <span className="text-sm font-medium">Parameters</span>
          <textarea
            className="field min-h-48 font-mono text-sm"
            spellCheck={false}
            value={json}
            aria-invalid={broken}
            onChange={(event) => {
              setJson(event.target.value);
            }}
          />
          {whole?.ok === false ? <span className="text-sm text-madder">{whole.error}</span> : null}
        </label>
      )}
      <div className="flex justify-end gap-2">
        <Button look="bare" onClick={onCancel}>
          Cancel
        </Button>
        <Button look="primary" type="submit" disabled={pending || broken || untouched}>
          {pending ? "Saving…" : "Save changes"}
        </Button>
      </div>
      <p className="text-sm text-muted">
        Saving approves nothing: the changed action waits for your approval.
      </p>
    </form>
  );
}

interface FieldProps {
  name: string;
  value: Json;
  text: string;
  error: string | undefined;
  first: boolean;
  onText: (text: string) => void;
}

function Field({ name, value, text, error, first, onText }: FieldProps) {
  const id = useId();
  const kind = kindOf(value);
  if (kind === "boolean") {
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
  const rows = Math.min(14, Math.max(1, text.split("\n").length, Math.ceil(text.length / 72)));
  return (
    <div className="flex flex-col gap-1">
      <label htmlFor={id} className="font-mono text-sm">
        {name}
      </label>
      <textarea
        id={id}
        className="field resize-y font-mono text-sm"
        rows={rows}
        value={text}
        autoFocus={first}
        spellCheck={kind === "text"}
        inputMode={kind === "number" ? "decimal" : undefined}
        aria-invalid={error !== undefined}
        aria-describedby={error ? `${id}-error` : undefined}
        onChange={(event) => {
          onText(event.target.value);
        }}
      />
      {error ? (
        <span id={`${id}-error`} className="text-sm text-madder">
          {error}
        </span>
      ) : null}
    </div>
  );
}
