// Starts a session: which agent, which model, how much it may think.
import { useRef, useState } from "react";
import { newKey } from "../api/http";
import { createSession, type NewSession as Draft, type Session } from "../session/api";
import { plainName } from "../text/states";
import { FormDialog } from "../ui/FormDialog";
import { Labelled } from "../ui/Labelled";
import { AdapterField, adapterFault } from "./AdapterField";

const LEVELS = ["off", "minimal", "low", "medium", "high", "xhigh"];

interface Props {
  onClose: () => void;
  onCreated: (session: Session) => void;
}

export function NewSession({ onClose, onCreated }: Props) {
  const [draft, setDraft] = useState<Draft>({
    title: "",
    adapter: "scripted",
    provider: "",
    model: "",
    thinking: "medium",
  });
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<Error>();
  const sent = useRef({ draft, key: "" });

  const submit = async (): Promise<void> => {
    if (busy) return;
    const key = sent.current.draft === draft && sent.current.key !== "" ? sent.current.key : newKey();
    sent.current = { draft, key };
    setBusy(true);
    setError(undefined);
    try {
      onCreated(await createSession({ ...draft, adapter: draft.adapter.trim() }, key));
    } catch (problem) {
      setError(problem as Error);
      setBusy(false);
    }
  };
  const field = (name: keyof Draft) => ({
    className: "field",
    autoComplete: "off",
    value: draft[name],
    onChange: (event: { target: { value: string } }) => {
      setDraft({ ...draft, [name]: event.target.value });
    },
  });
  return (
    <FormDialog
      title="New session"
      submit={{
        label: busy ? "Starting…" : error ? "Try again" : "Start session",
        disabled: busy || adapterFault(draft.adapter) !== undefined,
      }}
      refusal={error && { title: "The session was not started", why: error.message }}
      onSubmit={() => void submit()}
      onClose={onClose}
    >
      <Labelled label="Title">
        <input {...field("title")} maxLength={200} data-autofocus placeholder="May stay empty" />
      </Labelled>
      <div className="grid gap-4 sm:grid-cols-2">
        <AdapterField
          value={draft.adapter}
          onChange={(adapter) => {
            setDraft({ ...draft, adapter });
          }}
        />
        <Labelled label="Thinking">
          <select {...field("thinking")}>
            {LEVELS.map((level) => (
              <option key={level} value={level}>
                {plainName(level)}
              </option>
            ))}
          </select>
        </Labelled>
        <Labelled label="Provider">
          <input {...field("provider")} maxLength={128} placeholder="As configured" />
        </Labelled>
        <Labelled label="Model">
          <input {...field("model")} maxLength={128} placeholder="As configured" />
        </Labelled>
      </div>
    </FormDialog>
  );
}
