// What the workers of a session may cost, what they have cost, and whether a late result wakes the agent.
import { useState } from "react";
import { Button } from "../ui/Button";
import { CheckRow } from "../ui/CheckRow";
import type { Roster } from "./types";
import type { ThreadMode } from "./useThreadMode";

export function Costs({ roster, mode }: { roster: Roster; mode: ThreadMode }) {
  const policy = roster.policy ?? {};
  const [seconds, setSeconds] = useState<string>();
  const [tokens, setTokens] = useState<string>();
  const [busy, setBusy] = useState(false);
  const changed = seconds !== undefined || tokens !== undefined;
  const save = async (): Promise<void> => {
    setBusy(true);
    await mode.set(mode.on, {
      ...(seconds === undefined ? {} : { budget_seconds: Number(seconds) }),
      ...(tokens === undefined ? {} : { budget_tokens: Number(tokens) }),
    });
    setSeconds(undefined);
    setTokens(undefined);
    setBusy(false);
  };
  return (
    <details className="border-t border-line px-4 py-3">
      <summary className="eyebrow cursor-pointer rounded">
        Limits
        <span className="ml-2 font-normal normal-case tracking-normal">{spent(roster)}</span>
      </summary>
      <div className="flex flex-col gap-3 pt-3">
        <CheckRow
          checked={policy.auto_wake ?? false}
          onChange={(checked) => {
            void mode.set(mode.on, { auto_wake: checked });
          }}
        >
          A result that comes after the turn starts a new one
        </CheckRow>
        <form
          className="flex flex-wrap items-end gap-2"
          onSubmit={(event) => {
            event.preventDefault();
            void save();
          }}
        >
          <Limit
            label="Seconds"
            value={seconds ?? String(policy.budget_seconds ?? 0)}
            onChange={setSeconds}
          />
          <Limit label="Tokens" value={tokens ?? String(policy.budget_tokens ?? 0)} onChange={setTokens} />
          <Button type="submit" disabled={!changed || busy}>
            {busy ? "Setting…" : "Set"}
          </Button>
        </form>
        <p className="text-xs text-faint">Of all workers together; 0: no limit.</p>
      </div>
    </details>
  );
}

function Limit({
  label,
  value,
  onChange,
}: {
  label: string;
  value: string;
  onChange: (value: string) => void;
}) {
  return (
    <label className="flex min-w-0 flex-1 basis-24 flex-col gap-1 text-xs text-faint">
      {label}
      <input
        className="field !py-1.5 !text-sm"
        type="number"
        min={0}
        step={1}
        required
        value={value}
        onChange={(event) => {
          onChange(event.target.value);
        }}
      />
    </label>
  );
}

function spent({ spent_seconds, spent_tokens, policy }: Roster): string {
  const of = (limit: number | undefined): string => (limit ? ` of ${limit.toLocaleString("en-GB")}` : "");
  const parts = [
    spent_seconds > 0 ? `${spent_seconds.toLocaleString("en-GB")}${of(policy?.budget_seconds)} s` : "",
    spent_tokens > 0 ? `${spent_tokens.toLocaleString("en-GB")}${of(policy?.budget_tokens)} tokens` : "",
  ].filter((part) => part !== "");
  return parts.length === 0 ? "" : `${parts.join(", ")} so far`;
}
