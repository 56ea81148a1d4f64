// A field under its name, with what is wrong with it, or how it is meant, below.
import type { ReactNode } from "react";

interface Props {
  label: ReactNode;
  /** At the right of the name: how much room is left. */
  count?: ReactNode;
  fault?: string | undefined;
  hint?: ReactNode;
  children: ReactNode;
}

export function Labelled({ label, count, fault, hint, children }: Props) {
  return (
    <div className="flex min-w-0 flex-col gap-1">
      <label className="flex min-w-0 flex-col gap-1">
        <span className="flex items-baseline justify-between text-sm font-medium">
          {label}
          {count}
        </span>
        {children}
      </label>
      {fault ? (
        <p role="alert" className="text-sm text-madder">
          {fault}
        </p>
      ) : null}
      {hint ? <p className="text-xs text-faint">{hint}</p> : null}
    </div>
  );
}
