// Choosing and walking over a board's items with the keyboard and the mouse. Owns the focus, and moves nothing.
import { useEffect, useRef, useState, type KeyboardEvent, type MouseEvent } from "react";
import type { Column, Key } from "./placing";
import { allKeys, aside, next, NONE, only, present, ranged, toggled, type Selection } from "./selection";

export function useChoosing(columns: readonly Column[]) {
  const [stored, setSelection] = useState<Selection>(NONE);
  const [at, setAt] = useState<Key>();
  const wanted = useRef<Key>(undefined);
  const selection = present(columns, stored);
  const keys = allKeys(columns);
  const current = at !== undefined && keys.includes(at) ? at : keys[0];

  // The focus follows an item that has gone to another column, as soon as it is shown there.
  useEffect(() => {
    if (wanted.current === undefined || !keys.includes(wanted.current)) return;
    focusItem(wanted.current);
    wanted.current = undefined;
  });

  const go = (key: Key | undefined): void => {
    if (key === undefined) return;
    setAt(key);
    focusItem(key);
  };
  const focused = (): Key | undefined => {
    const key = document.activeElement?.getAttribute("data-item") ?? undefined;
    return key !== undefined && keys.includes(key) ? key : undefined;
  };
  const walk = (by: 1 | -1): void => {
    go(next(columns, focused(), by));
  };

  return {
    selection,
    current,
    focused,
    walk,
    setAt,
    toggle: (key: Key) => {
      setSelection(toggled(selection, key));
    },
    clear: () => {
      setSelection(NONE);
    },
    /** Focuses the item once it lies there. */
    follow: (key: Key) => {
      wanted.current = key;
      setAt(key);
    },
    press: (event: MouseEvent, key: Key) => {
      if (event.shiftKey) setSelection(ranged(columns, selection, key));
      else if (event.ctrlKey || event.metaKey) setSelection(toggled(selection, key));
      else setSelection(only(key));
      go(key);
    },
    /** Keys that count while an item has the focus. */
    onKeyDown: (event: KeyboardEvent): void => {
      const key = focused();
      if (key === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
      const steps: Partial<Record<string, () => void>> = {
        ArrowDown: () => {
          walk(1);
        },
        ArrowUp: () => {
          walk(-1);
        },
        ArrowRight: () => {
          go(aside(columns, key, 1));
        },
        ArrowLeft: () => {
          go(aside(columns, key, -1));
        },
        x: () => {
          setSelection(toggled(selection, key));
        },
        " ": () => {
          setSelection(toggled(selection, key));
        },
      };
      const step = steps[event.key] ?? { j: steps["ArrowDown"], k: steps["ArrowUp"] }[event.key];
      if (!step) return;
      event.preventDefault();
      step();
    },
  };
}

export type Choosing = ReturnType<typeof useChoosing>;

function focusItem(key: Key): void {
  const item = document.querySelector<HTMLElement>(`[data-item="${CSS.escape(key)}"]`);
  item?.focus({ preventScroll: true });
  item?.scrollIntoView({ block: "nearest", inline: "nearest" });
}
