// An item, whole: what it says and what came with it.
import type { ContextItem } from "../api/types";
import { visible } from "../text/visible";
import { Value } from "../thread/Parameters";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";

export function ItemDetail({ item, onClose }: { item: ContextItem; onClose: () => void }) {
  const kind = [item.source, item.type].filter(Boolean).join(" / ");
  return (
    <Dialog title={visible(item.label || item.id)} onClose={onClose}>
      {kind ? <p className="font-mono text-xs text-muted">{visible(kind)}</p> : null}
      {item.payload === undefined || item.payload === null ? (
        <p className="text-sm text-muted">Nothing more came with it.</p>
      ) : (
        <div className="rounded-md border border-line bg-sunk p-3">
          <Value value={item.payload} label="Payload" />
        </div>
      )}
      <div className="flex justify-end">
        <Button onClick={onClose} data-autofocus hint="Esc">
          Close
        </Button>
      </div>
    </Dialog>
  );
}
