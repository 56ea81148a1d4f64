// A box to tick with its words, all of it to be pressed.
import type { ReactNode } from "react";

interface Props {
  checked: boolean;
  className?: string;
  children: ReactNode;
  onChange: (checked: boolean) => void;
}

export function CheckRow({ checked, className = "", children, onChange }: Props) {
  return (
    <label
      className={`flex cursor-pointer items-start gap-3 text-sm max-lg:min-h-10 max-lg:py-2 ${className}`}
    >
      <input
        type="checkbox"
        className="mt-px size-4 shrink-0 cursor-pointer accent-indigo"
        checked={checked}
        onChange={(event) => {
          onChange(event.target.checked);
        }}
      />
      {children}
    </label>
  );
}
