// Dragging items with a pointer: begins after a few pixels, shows a ghost, scrolls at the edges, ends on a column or
// nowhere. Knows elements marked data-drop, and nothing of moves.
import { useEffect, useRef, useState, type PointerEvent as ReactPointerEvent } from "react";
import type { Key } from "./placing";

const BEGINS_AFTER = 5;
const EDGE = 56;
const SPEED = 14;

export interface Drag {
  keys: readonly Key[];
  /** The drop target under the pointer. */
  over: string | undefined;
}

interface Options {
  onDrop: (keys: readonly Key[], target: string) => void;
}

function scrollParent(from: Element | null): Element {
  for (let element = from; element; element = element.parentElement) {
    const { overflowY } = getComputedStyle(element);
    if (/auto|scroll/.test(overflowY) && element.scrollHeight > element.clientHeight) return element;
  }
  return document.documentElement;
}

function pull(at: number, low: number, high: number): number {
  if (at < low + EDGE) return -SPEED;
  return at > high - EDGE ? SPEED : 0;
}

export function useDrag({ onDrop }: Options) {
  const [drag, setDrag] = useState<Drag>();
  const ghost = useRef<HTMLDivElement>(null);
  const board = useRef<HTMLDivElement>(null);
  const stop = useRef<() => void>(undefined);
  /** A drag ends with a click on what is under the pointer: that one is not meant. */
  const dragged = useRef(false);
  useEffect(() => () => stop.current?.(), []);

  const begin = (event: ReactPointerEvent, keys: () => readonly Key[]): void => {
    if (event.button !== 0 || stop.current) return;
    const from = { x: event.clientX, y: event.clientY };
    let at = from;
    let held: readonly Key[] | undefined;
    let over: string | undefined;
    let frame = 0;
    dragged.current = false;

    const look = (): void => {
      const under = document.elementFromPoint(at.x, at.y)?.closest("[data-drop]");
      over = under?.getAttribute("data-drop") ?? undefined;
      if (ghost.current) ghost.current.style.transform = `translate(${at.x + 12}px, ${at.y + 10}px)`;
      setDrag((now) =>
        held === undefined || (now && now.over === over && now.keys === held) ? now : { keys: held, over },
      );
    };
    const scroll = (): void => {
      const columns = board.current;
      if (columns) {
        const box = columns.getBoundingClientRect();
        columns.scrollLeft += pull(at.x, Math.max(0, box.left), Math.min(innerWidth, box.right));
        const page = scrollParent(columns.parentElement);
        page.scrollTop += pull(
          at.y,
          page === document.documentElement ? 0 : page.getBoundingClientRect().top,
          innerHeight,
        );
      }
      look();
      frame = requestAnimationFrame(scroll);
    };
    const onMove = (moved: PointerEvent): void => {
      at = { x: moved.clientX, y: moved.clientY };
      if (held) {
        look();
        return;
      }
      if (Math.hypot(at.x - from.x, at.y - from.y) < BEGINS_AFTER) return;
      held = keys();
      dragged.current = true;
      look();
      frame = requestAnimationFrame(scroll);
    };
    const onUp = (): void => {
      if (held) look();
      const dropped = held && over !== undefined ? { keys: held, over } : undefined;
      end();
      if (dropped) onDrop(dropped.keys, dropped.over);
    };
    const onKeyDown = (pressed: KeyboardEvent): void => {
      if (pressed.key !== "Escape" || !held) return;
      pressed.preventDefault();
      pressed.stopPropagation();
      end();
    };
    const end = (): void => {
      cancelAnimationFrame(frame);
      window.removeEventListener("pointermove", onMove);
      window.removeEventListener("pointerup", onUp);
      window.removeEventListener("pointercancel", end);
      window.removeEventListener("keydown", onKeyDown, true);
      stop.current = undefined;
      held = undefined;
      setDrag(undefined);
    };
    stop.current = end;
    window.addEventListener("pointermove", onMove);
    window.addEventListener("pointerup", onUp);
    window.addEventListener("pointercancel", end);
    window.addEventListener("keydown", onKeyDown, true);
  };

  /** Whether the click that follows belongs to a drag. */
  const wasDrag = (): boolean => {
    const was = dragged.current;
    dragged.current = false;
    return was;
  };
  return { drag, ghost, board, begin, wasDrag };
}
