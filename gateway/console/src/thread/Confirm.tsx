// The dialogs of a decision: ending a thread and cleaning up ask first (neither can be undone), snoozing asks how long.
import type { Thread } from "../api/types";
import { Button } from "../ui/Button";
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
    <Dialog title={reject ? "Reject this action?" : "Dismiss this thread?"} onClose={onClose}>
      <p className="[overflow-wrap:anywhere]">
        <span className="font-medium">{thread.title}</span> ends here and nothing is executed. This cannot be
        undone.
        {reject ? " To get another proposal instead, redirect it." : ""}
      </p>
      <div className="flex justify-end gap-2">
        <Button look="bare" onClick={onClose}>
          Keep it
        </Button>
        <Button look="danger" onClick={onYes} data-autofocus hint="Enter">
          {reject ? "Reject" : "Dismiss"}
        </Button>
      </div>
    </Dialog>
  );
}

interface CleanupProps {
  onYes: () => void;
  onClose: () => void;
}

export function ConfirmCleanup({ onYes, onClose }: CleanupProps) {
  return (
    <Dialog title="Clean up the source?" onClose={onClose}>
      <p>
        The line that this came from is removed where it stands, and the thread ends as done. No action is
        executed.
      </p>
      <div className="flex justify-end gap-2">
        <Button look="bare" onClick={onClose}>
          Keep it
        </Button>
        <Button look="danger" onClick={onYes} data-autofocus hint="Enter">
          Clean up
        </Button>
      </div>
    </Dialog>
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
