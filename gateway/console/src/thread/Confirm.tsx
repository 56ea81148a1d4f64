// The dialogs of a decision: ending a thread and cleaning up ask first (neither can be undone), snoozing asks how long.
import type { Thread } from "../api/types";
import { visible } from "../text/visible";
import { Button } from "../ui/Button";
import { Confirm } from "../ui/Confirm";
import { Dialog } from "../ui/Dialog";

interface EndProps {
  thread: Thread;
  verb: "dismiss" | "reject";
  onYes: () => void;
  onClose: () => void;
}

export function ConfirmEnd({ thread, verb, onYes, onClose }: EndProps) {
  const reject = verb === "reject";
  return (
    <Confirm
      title={reject ? "Reject this action?" : "Dismiss this thread?"}
      yes={reject ? "Reject" : "Dismiss"}
      onYes={onYes}
      onClose={onClose}
    >
      <span className="font-medium">{visible(thread.title)}</span> ends here and nothing is executed. This
      cannot be undone.
      {reject ? " To get another proposal instead, redirect it." : ""}
    </Confirm>
  );
}

interface CleanupProps {
  onYes: () => void;
  onClose: () => void;
}

export function ConfirmCleanup({ onYes, onClose }: CleanupProps) {
  return (
    <Confirm title="Clean up the source?" yes="Clean up" onYes={onYes} onClose={onClose}>
      The line that this came from is removed where it stands, and the thread ends as done. No action is
      executed.
    </Confirm>
  );
}

const CHOICES: readonly (readonly [string, number])[] = [
  ["1 hour", 1],
  ["4 hours", 4],
  ["Until tomorrow", 24],
  ["3 days", 72],
  ["A week", 168],
];

interface SnoozeProps {
  onHours: (hours: number) => void;
  onClose: () => void;
}

export function Snooze({ onHours, onClose }: SnoozeProps) {
  return (
    <Dialog title="Snooze" onClose={onClose}>
      <p className="text-sm text-muted">It leaves the inbox and comes back by itself. Nothing is decided.</p>
      <div className="flex flex-wrap gap-2">
        {CHOICES.map(([label, hours], index) => (
          <Button
            key={hours}
            data-autofocus={index === 0}
            onClick={() => {
              onHours(hours);
            }}
          >
            {label}
          </Button>
        ))}
      </div>
      <div className="flex justify-end">
        <Button look="bare" onClick={onClose}>
          Cancel
        </Button>
      </div>
    </Dialog>
  );
}
