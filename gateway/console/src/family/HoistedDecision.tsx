// The buttons of a hoisted action, and the form of the one that asks. Sends nothing by itself.
import type { HoistedVerb } from "../api/hoisted";
import { Button } from "../ui/Button";
import { TextForm } from "../thread/TextForm";

const LABELS: readonly (readonly [HoistedVerb, string])[] = [
  ["accept", "Approve"],
  ["redirect_action", "Redirect"],
  ["dismiss", "Dismiss"],
];

interface Props {
  verbs: readonly HoistedVerb[];
  open: HoistedVerb | undefined;
  title: string;
  pending: string | undefined;
  /** The proposal has stood long enough to be approved without a slip of the finger. */
  settled: boolean;
  onPress: (verb: HoistedVerb) => void;
  onSend: (verb: HoistedVerb, feedback?: string) => void;
  onClose: () => void;
}

export function HoistedDecision({ verbs, open, title, pending, settled, onPress, onSend, onClose }: Props) {
  if (open === "redirect_action") {
    return (
      <TextForm
        label="What should be different?"
        hint="Only this action is proposed anew."
        submit="Redirect"
        mayBeEmpty
        pending={pending !== undefined}
        onSubmit={(text) => {
          onSend("redirect_action", text);
        }}
        onCancel={onClose}
      />
    );
  }
  if (open === "dismiss") {
    return (
      <div role="group" aria-label="Dismiss it?" className="flex flex-wrap items-center justify-end gap-2">
        <p className="mr-auto text-sm">Ends without doing it.</p>
        <Button look="bare" onClick={onClose}>
          Keep it
        </Button>
        <Button
          look="danger"
          autoFocus
          onClick={() => {
            onSend("dismiss");
          }}
        >
          Dismiss
        </Button>
      </div>
    );
  }
  return (
    <div role="group" aria-label={`Decide on ${title}`} className="flex flex-wrap gap-2">
      {LABELS.filter(([verb]) => verbs.includes(verb)).map(([verb, label]) => (
        <Button
          key={verb}
          look={verb === "accept" ? "primary" : verb === "dismiss" ? "bare" : "plain"}
          className={verb === "dismiss" ? "ml-auto" : "max-sm:flex-1"}
          disabled={pending !== undefined || (verb === "accept" && !settled)}
          onClick={() => {
            onPress(verb);
          }}
        >
          {pending === verb ? "Sending…" : label}
        </Button>
      ))}
    </div>
  );
}
