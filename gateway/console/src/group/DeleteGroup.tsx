// Asks before a group goes that holds items, or that is the last: its umbrella ends with it.
import { visible } from "../text/visible";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
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
    <Dialog title="Delete this group?" onClose={onClose}>
      <p className="[overflow-wrap:anywhere]">
        <span className="font-medium">{visible(column.thread.title)}</span>{" "}
        {count > 0
          ? `holds ${count} ${count === 1 ? "item" : "items"}. They leave the board with it, and stay readable on its page. Move them first to keep them.`
          : "holds nothing."}
        {last ? " It is the last open group: the whole is done then." : ""}
      </p>
      <div className="flex justify-end gap-2">
        <Button look="bare" onClick={onClose}>
          Keep it
        </Button>
        <Button look="danger" onClick={onYes} data-autofocus hint="Enter">
          Delete group
        </Button>
      </div>
    </Dialog>
  );
}
