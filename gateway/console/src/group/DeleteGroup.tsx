// Asks before a group goes that holds items, or that is the last: its umbrella ends with it.
import { visible } from "../text/visible";
import { Confirm } from "../ui/Confirm";
import type { Column } from "./placing";

interface Props {
  column: Column;
  last: boolean;
  onYes: () => void;
  onClose: () => void;
}

export function DeleteGroup({ column, last, onYes, onClose }: Props) {
  const count = column.items.length;
  return (
    <Confirm title="Delete this group?" yes="Delete group" onYes={onYes} onClose={onClose}>
      <span className="font-medium">{visible(column.thread.title)}</span>{" "}
      {count > 0
        ? `holds ${count} ${count === 1 ? "item" : "items"}. They leave the board with it, and stay readable on its page. Move them first to keep them.`
        : "holds nothing."}
      {last ? " It is the last open group: the whole is done then." : ""}
    </Confirm>
  );
}
