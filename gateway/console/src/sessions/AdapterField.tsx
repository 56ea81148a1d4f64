// Which agent drives a session: one of those that are known, or another by its name.
import { useId } from "react";
import { Labelled } from "../ui/Labelled";

const ADAPTERS = ["scripted", "pi", "openai", "external"];
const NAME = /^[a-z0-9_-]{1,63}$/;

/** What is wrong with a name; undefined: nothing. */
export function adapterFault(name: string): string | undefined {
  return NAME.test(name.trim()) ? undefined : "Small letters, digits, - and _, at most 63.";
}

interface Props {
  value: string;
  disabled?: boolean;
  onChange: (value: string) => void;
}

export function AdapterField({ value, disabled = false, onChange }: Props) {
  const list = useId();
  const fault = adapterFault(value);
  return (
    <Labelled label="Adapter" fault={value === "" ? undefined : fault}>
      <input
        className="field"
        list={list}
        value={value}
        disabled={disabled}
        required
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        aria-invalid={fault !== undefined}
        onChange={(event) => {
          onChange(event.target.value);
        }}
      />
      <datalist id={list}>
        {ADAPTERS.map((adapter) => (
          <option key={adapter} value={adapter} />
        ))}
      </datalist>
    </Labelled>
  );
}
