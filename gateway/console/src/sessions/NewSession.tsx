// Starts a session: which agent, which model, how much it may think.
import { useRef, useState } from "react";
import { newKey } from "../api/http";
import { createSession, type NewSession as Draft, type Session } from "../session/api";
import { plainName } from "../text/states";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { Notice } from "../ui/Notice";
import { submitOnCtrlEnter } from "../ui/submit";

const ADAPTERS = ["scripted", "pi", "openai", "external"];
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
    if (busy || draft.adapter.trim() === "") return;
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
    <Dialog title="New session" onClose={onClose}>
      <form
        className="flex flex-col gap-4"
        onKeyDown={submitOnCtrlEnter}
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <label className="flex flex-col gap-1">
          <span className="text-sm font-medium">Title</span>
          <input {...field("title")} maxLength={200} data-autofocus placeholder="May stay empty" />
        </label>
        <div className="grid gap-4 sm:grid-cols-2">
          <label className="flex flex-col gap-1">
            <span className="text-sm font-medium">Adapter</span>
            <input {...field("adapter")} list="adapters" required pattern="[a-z0-9_\-]{1,63}" />
            <datalist id="adapters">
              {ADAPTERS.map((adapter) => (
                <option key={adapter} value={adapter} />
              ))}
            </datalist>
          </label>
          <label className="flex flex-col gap-1">
            <span className="text-sm font-medium">Thinking</span>
            <select {...field("thinking")}>
              {LEVELS.map((level) => (
                <option key={level} value={level}>
                  {plainName(level)}
                </option>
              ))}
            </select>
          </label>
          <label className="flex flex-col gap-1">
            <span className="text-sm font-medium">Provider</span>
            <input {...field("provider")} maxLength={128} placeholder="As configured" />
          </label>
          <label className="flex flex-col gap-1">
            <span className="text-sm font-medium">Model</span>
            <input {...field("model")} maxLength={128} placeholder="As configured" />
          </label>
        </div>
        {error ? (
          <Notice tone="warn" title="The session was not started">
            {error.message}
          </Notice>
        ) : null}
        <div className="flex justify-end gap-2">
          <Button look="bare" onClick={onClose}>
            Cancel
          </Button>
          <Button look="primary" type="submit" disabled={busy || draft.adapter.trim() === ""}>
            {busy ? "Starting…" : error ? "Try again" : "Start session"}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
