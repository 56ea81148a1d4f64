// The row of columns: binds each item to what a press, a key or a pointer does with it.
import type { PointerEvent, RefObject } from "react";
import type { ContextItem } from "../api/types";
import { ActionChip } from "./ActionChip";
import { keyOf, movable, partsOf, type Column, type Key } from "./placing";
import { GroupColumn } from "./GroupColumn";
import { Item } from "./Item";
import { NEW } from "./MovePicker";
import { NewGroup } from "./NewGroup";
import { perGroup } from "../picking/options";
import { subject } from "./selection";
import type { Board } from "./useBoard";
import type { Choosing } from "./useChoosing";
import type { Drag } from "./useDrag";

interface Props {
  board: Board;
  choosing: Choosing;
  drag: Drag | undefined;
  surface: RefObject<HTMLDivElement | null>;
  /** A new group may be made. */
  live: boolean;
  wasDrag: () => boolean;
  onGrab: (event: PointerEvent, keys: () => readonly Key[]) => void;
  onDelete: (column: Column) => void;
  onOpen: (item: ContextItem) => void;
}

export function Columns(props: Props) {
  const { board, drag, surface, live } = props;
  return (
    <div
      ref={surface}
      data-board
      className={`-mx-8 flex items-stretch gap-3 overflow-x-auto px-8 pb-3 max-lg:-mx-4 max-lg:px-4 max-sm:flex-col ${drag ? "cursor-grabbing" : ""}`}
    >
      {board.columns.map((column) => (
        <BoundColumn key={column.thread.id} column={column} {...props} />
      ))}
      {live ? (
        <NewGroup
          over={drag?.over === NEW}
          busy={board.busy.includes("new")}
          onSpawn={(label) => void board.spawn(label)}
        />
      ) : null}
    </div>
  );
}

function BoundColumn(props: Props & { column: Column }) {
  const { column, board, choosing, drag, wasDrag, onGrab, onDelete, onOpen } = props;
  const { thread } = column;
  const busy = board.busy.includes(thread.id);
  const fixed = !movable(thread);
  return (
    <GroupColumn
      column={column}
      over={drag?.over === thread.id}
      busy={busy}
      chip={
        <ActionChip
          thread={thread}
          options={perGroup(board.options)}
          busy={busy}
          onPick={(capability, parameters) => void board.pick(thread.id, capability, parameters)}
          onClear={() => void board.pick(thread.id, null)}
        />
      }
      onDelete={() => {
        onDelete(column);
      }}
    >
      {column.items.map((item) => {
        const key = keyOf(thread.id, item.id);
        return (
          <Item
            key={item.id}
            item={item}
            itemKey={key}
            chosen={choosing.selection.chosen.includes(key)}
            current={choosing.current === key}
            held={drag?.keys.includes(key) ?? false}
            fixed={fixed}
            onPress={(event) => {
              if (!wasDrag()) choosing.press(event, key);
            }}
            onFocus={() => {
              choosing.setAt(key);
            }}
            onOpen={() => {
              onOpen(item);
            }}
            onGrab={(event) => {
              onGrab(event, () =>
                subject(choosing.selection, key).filter((other) => canMove(board.columns, other)),
              );
            }}
          />
        );
      })}
    </GroupColumn>
  );
}

export function canMove(columns: readonly Column[], key: Key): boolean {
  const { column } = partsOf(key);
  return columns.some(({ thread }) => thread.id === column && movable(thread));
}
