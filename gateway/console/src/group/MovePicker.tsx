// Where to? The other columns as a list: a digit or J, K and Enter choose, a press does too.
import { useRef, type KeyboardEvent } from "react";
import type { Thread } from "../api/types";
import { visible } from "../text/visible";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";

/** Stands for a column that is made for the move. */
export const NEW = "new";

interface Props {
  count: number;
  targets: readonly Thread[];
  onPick: (target: string) => void;
  onClose: () => void;
}

const STEPS: Partial<Record<string, 1 | -1>> = { j: 1, J: 1, ArrowDown: 1, k: -1, K: -1, ArrowUp: -1 };

export function MovePicker({ count, targets, onPick, onClose }: Props) {
  const list = useRef<HTMLUListElement>(null);
  const onKeyDown = (event: KeyboardEvent): void => {
    const buttons = [...(list.current?.querySelectorAll("button") ?? [])];
    const by = STEPS[event.key];
    if (by !== undefined) {
      const here = buttons.indexOf(document.activeElement as HTMLButtonElement);
      event.preventDefault();
      buttons[Math.max(0, Math.min(buttons.length - 1, here + by))]?.focus();
    } else if (/^[1-9]$/.test(event.key)) {
      event.preventDefault();
      buttons[Number(event.key) - 1]?.click();
    }
  };
  const entries: readonly (readonly [id: string, label: string])[] = [
    ...targets.map((target) => [target.id, visible(target.title)] as const),
    [NEW, "A new group"],
  ];
  return (
    <Dialog title={`Move ${count} ${count === 1 ? "item" : "items"} to`} onClose={onClose}>
      <ul ref={list} className="flex max-h-96 flex-col gap-1 overflow-y-auto" onKeyDown={onKeyDown}>
        {entries.map(([id, label], index) => (
          <li key={id}>
            <button
              type="button"
              data-autofocus={index === 0}
              className="flex w-full items-baseline gap-3 rounded-md border border-line px-3 py-2 text-left -outline-offset-2 hover:bg-sunk"
              onClick={() => {
                onPick(id);
              }}
            >
              <span className="min-w-0 flex-1 [overflow-wrap:anywhere]">{label}</span>
              {index < 9 ? (
                <kbd aria-hidden className="font-mono text-xs text-faint max-lg:hidden">
                  {index + 1}
                </kbd>
              ) : null}
            </button>
          </li>
        ))}
      </ul>
      <div className="flex justify-end">
        <Button look="bare" onClick={onClose}>
          Cancel
        </Button>
      </div>
    </Dialog>
  );
}
