// One item of a column: an option of its list, dragged by its body with a mouse and by its handle with a finger.
import type { KeyboardEvent, MouseEvent, PointerEvent } from "react";
import type { ContextItem } from "../api/types";
import { visible } from "../text/visible";
import type { Key } from "./placing";

interface Props {
  item: ContextItem;
  itemKey: Key;
  chosen: boolean;
  /** Where the keyboard is: the one item that Tab reaches. */
  current: boolean;
  held: boolean;
  fixed: boolean;
  onPress: (event: MouseEvent) => void;
  onFocus: () => void;
  onOpen: () => void;
  onGrab: (event: PointerEvent) => void;
}

export function Item(props: Props) {
  const { item, itemKey, chosen, current, held, fixed, onPress, onFocus, onOpen, onGrab } = props;
  const label = visible(item.label || item.id);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== "Enter" || event.target !== event.currentTarget) return;
    event.preventDefault();
    onOpen();
  };
  return (
    <li
      role="option"
      aria-selected={chosen}
      data-item={itemKey}
      tabIndex={current ? 0 : -1}
      onClick={onPress}
      onDoubleClick={onOpen}
      onFocus={onFocus}
      onKeyDown={onKeyDown}
      onPointerDown={(event) => {
        if (!fixed && event.pointerType !== "touch") onGrab(event);
      }}
      className={`flex select-none items-start gap-2 rounded-md border px-3 py-2 ${fixed ? "" : "cursor-grab"} ${chosen ? "border-indigo bg-indigo-wash" : "border-line bg-raised hover:border-line-strong"} ${held ? "opacity-50" : ""}`}
    >
      <span className="min-w-0 flex-1">
        <span className="line-clamp-3 [overflow-wrap:anywhere]">{label}</span>
        {item.type ? <span className="block font-mono text-xs text-faint">{visible(item.type)}</span> : null}
      </span>
      {fixed ? null : (
        <span
          aria-hidden
          data-handle
          className="-m-2 hidden touch-none p-3 text-faint [@media(pointer:coarse)]:block"
          onPointerDown={(event) => {
            if (event.pointerType === "touch") onGrab(event);
          }}
        >
          ⠿
        </span>
      )}
    </li>
  );
}
