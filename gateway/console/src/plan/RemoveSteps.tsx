// Asks before a step goes with all under it: there is no way back.
import { visible } from "../text/visible";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";

interface Props {
  number: string;
  text: string;
  /** How many steps lie under it. */
  under: number;
  onRemove: () => void;
  onClose: () => void;
}

export function RemoveSteps({ number, text, under, onRemove, onClose }: Props) {
  return (
    <Dialog title={`Remove step ${number}?`} onClose={onClose}>
      <p className="text-sm text-muted [overflow-wrap:anywhere]">
        “{visible(text)}” goes, and with it {under === 1 ? "the step" : `the ${String(under)} steps`} under
        it.
      </p>
      <div className="flex justify-end gap-2">
        <Button look="bare" onClick={onClose}>
          Keep it
        </Button>
        <Button
          look="danger"
          data-autofocus
          onClick={() => {
            onRemove();
            onClose();
          }}
        >
          Remove
        </Button>
      </div>
    </Dialog>
  );
}
