// Asks before something that cannot be undone: first the way back, then the deed, by its name and in its colour.
import type { ReactNode } from "react";
import { Button } from "./Button";
import { Dialog } from "./Dialog";

interface Props {
  title: string;
  /** What the button does; `busy` in its place while it is under way. */
  yes: string;
  busy?: string | false;
  /** The way back. */
  no?: string;
  children: ReactNode;
  onYes: () => void;
  onClose: () => void;
}

export function Confirm({ title, yes, busy = false, no = "Keep it", children, onYes, onClose }: Props) {
  return (
    <Dialog title={title} onClose={onClose}>
      <p className="[overflow-wrap:anywhere]">{children}</p>
      <div className="flex justify-end gap-2">
        <Button look="bare" onClick={onClose}>
          {no}
        </Button>
        <Button look="danger" onClick={onYes} disabled={busy !== false} data-autofocus hint="Enter">
          {busy === false ? yes : busy}
        </Button>
      </div>
    </Dialog>
  );
}
