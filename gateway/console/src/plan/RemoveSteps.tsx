// Asks before a step goes with all under it: there is no way back.
import { visible } from "../text/visible";
import { Confirm } from "../ui/Confirm";

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
    <Confirm
      title={`Remove step ${number}?`}
      yes="Remove"
      onYes={() => {
        onRemove();
        onClose();
      }}
      onClose={onClose}
    >
      “{visible(text)}” goes for good, and with it {under === 1 ? "the step" : `the ${String(under)} steps`}{" "}
      under it.
    </Confirm>
  );
}
