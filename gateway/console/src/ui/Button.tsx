// Buttons, with the key that does the same.
import type { ButtonHTMLAttributes } from "react";

type Look = "primary" | "plain" | "danger" | "bare";

export const LOOKS: Record<Look, string> = {
  primary: "bg-indigo text-indigo-ink hover:opacity-90 font-medium",
  plain: "border border-line-strong bg-raised text-ink hover:bg-sunk",
  danger: "bg-madder text-paper hover:opacity-90 font-medium",
  bare: "text-muted hover:bg-sunk hover:text-ink",
};

interface Props extends ButtonHTMLAttributes<HTMLButtonElement> {
  look?: Look;
  hint?: string;
  "data-autofocus"?: boolean;
}

export function Button({ look = "plain", hint, className = "", children, type = "button", ...rest }: Props) {
  return (
    <button
      type={type}
      className={`inline-flex min-h-8 items-center justify-center gap-2 whitespace-nowrap rounded-md px-3 py-1 text-sm transition-colors disabled:pointer-events-none disabled:opacity-50 max-lg:min-h-10 ${LOOKS[look]} ${className}`}
      {...(hint ? { "aria-keyshortcuts": hint } : {})}
      {...rest}
    >
      {children}
      {hint ? <Key inherit>{hint}</Key> : null}
    </button>
  );
}

/** A key cap. Hidden where there is no keyboard to press it on. */
export function Key({ children, inherit = false }: { children: string; inherit?: boolean }) {
  const colour = inherit ? "border-current" : "border-line-strong bg-raised text-muted";
  return (
    <kbd
      aria-hidden={inherit || undefined}
      className={`hidden min-w-4 whitespace-nowrap rounded border px-1 text-center font-mono text-xs leading-4 sm:[@media(hover:hover)]:inline-block ${colour}`}
    >
      {children}
    </kbd>
  );
}
