// A button with a list of choices below (or above) it, on the platform's popover: it lies over everything, closes on
// Escape and on a press elsewhere. Arrows move, Enter and Space choose.
import { useId, useRef, useState, type KeyboardEvent, type ReactNode } from "react";

export interface Choice {
  id: string;
  label: string;
  detail?: string | undefined;
  hint?: string;
  /** A line above it. */
  apart?: boolean;
  onPick: () => void;
}

interface Props {
  label: string;
  children: ReactNode;
  className: string;
  choices: readonly Choice[];
  /** Shown where there are no choices. */
  empty?: string;
  disabled?: boolean;
}

const ROOM = 8;

/** Under the button where there is room, else above it; always inside the window. */
function place(button: HTMLElement, list: HTMLElement): void {
  const at = button.getBoundingClientRect();
  const { width, height } = list.getBoundingClientRect();
  const below = at.bottom + 4 + height <= innerHeight - ROOM;
  const top = below ? at.bottom + 4 : Math.max(ROOM, at.top - 4 - height);
  list.style.top = `${top}px`;
  list.style.left = `${Math.max(ROOM, Math.min(at.left, innerWidth - width - ROOM))}px`;
}

export function Menu({ label, children, className, choices, empty = "", disabled = false }: Props) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const [open, setOpen] = useState(false);

  const items = (): HTMLElement[] => [
    ...(list.current?.querySelectorAll<HTMLElement>("[role=menuitem]") ?? []),
  ];
  const onKeyDown = (event: KeyboardEvent): void => {
    const all = items();
    const here = all.indexOf(document.activeElement as HTMLElement);
    const to: Partial<Record<string, number>> = {
      ArrowDown: (here + 1) % all.length,
      ArrowUp: (here - 1 + all.length) % all.length,
      Home: 0,
      End: all.length - 1,
    };
    const next = to[event.key];
    event.stopPropagation();
    if (event.key === "Tab") list.current?.hidePopover();
    if (next === undefined) return;
    event.preventDefault();
    all[next]?.focus();
  };

  return (
    <>
      <button
        ref={button}
        type="button"
        aria-label={label}
        aria-haspopup="menu"
        disabled={disabled}
        popoverTarget={id}
        className={className}
      >
        {children}
      </button>
      <div
        ref={list}
        id={id}
        popover="auto"
        role="menu"
        aria-label={label}
        onKeyDown={onKeyDown}
        onClick={(event) => {
          event.stopPropagation();
        }}
        onBeforeToggle={(event) => {
          setOpen(event.newState === "open");
        }}
        onToggle={(event) => {
          if (event.newState !== "open" || !button.current || !list.current) return;
          place(button.current, list.current);
          items()[0]?.focus();
        }}
        className="fixed inset-auto m-0 max-h-80 w-64 max-w-[calc(100vw-1rem)] overflow-y-auto rounded-lg border border-line-strong bg-raised p-1 text-ink shadow-xl"
      >
        {(open ? choices : []).map((choice) => (
          <button
            key={choice.id}
            type="button"
            role="menuitem"
            tabIndex={-1}
            className={`flex w-full items-baseline gap-3 rounded px-3 py-2 text-left text-sm -outline-offset-2 hover:bg-sunk focus-visible:bg-sunk ${choice.apart ? "mt-1 border-t border-line" : ""}`}
            {...(choice.hint ? { "aria-keyshortcuts": choice.hint } : {})}
            onClick={() => {
              list.current?.hidePopover();
              button.current?.focus();
              choice.onPick();
            }}
          >
            <span className="min-w-0 flex-1">
              <span className="block [overflow-wrap:anywhere]">{choice.label}</span>
              {choice.detail ? <span className="block text-xs text-muted">{choice.detail}</span> : null}
            </span>
            {choice.hint ? <kbd className="font-mono text-xs text-faint">{choice.hint}</kbd> : null}
          </button>
        ))}
        {open && choices.length === 0 ? <p className="px-3 py-2 text-sm text-muted">{empty}</p> : null}
      </div>
    </>
  );
}
