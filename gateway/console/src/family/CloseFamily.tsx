// Dismissing an umbrella: says how many threads end with it before anybody presses, and offers to stop what is running
// where that stands in the way (design/threads.md §0.5, §0.12).
import { useState } from "react";
import { closedWith, usePreview } from "../api/families";
import { closing, type Intention } from "../api/decisions";
import { newKey, Problem } from "../api/http";
import type { Thread } from "../api/types";
import { visible } from "../text/visible";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { ReadError } from "../ui/Notice";

interface Props {
  thread: Thread;
  onSend: (intention: Intention) => void;
  onClose: () => void;
}

export function CloseFamily({ thread, onSend, onClose }: Props) {
  const [stop, setStop] = useState(false);
  const preview = usePreview(thread.id, {
    decision: stop ? "force_close" : "dismiss",
    cancelExecuting: stop,
  });
  const refused = preview.error instanceof Problem && preview.error.conflict ? preview.error : undefined;
  const count = preview.data ? closedWith(thread.id, preview.data) : undefined;
  return (
    <Dialog title="Dismiss this thread and what is below it?" onClose={onClose}>
      <p className="[overflow-wrap:anywhere]">
        <span className="font-medium">{visible(thread.title)}</span> ends here
        {count === undefined ? null : <With count={count} stop={stop} />}. This cannot be undone.
      </p>
      {refused ? (
        <p role="alert" className="rounded-md bg-madder-wash px-3 py-2 text-sm [overflow-wrap:anywhere]">
          {stop
            ? visible(refused.message)
            : "An action below it is executing, so it cannot simply be dismissed."}
        </p>
      ) : preview.error ? (
        <ReadError error={preview.error} what="What it would close" onRetry={() => void preview.refetch()} />
      ) : null}
      <div className="flex flex-wrap justify-end gap-2">
        <Button look="bare" onClick={onClose}>
          Keep it
        </Button>
        {refused && !stop ? (
          <Button
            look="danger"
            data-autofocus
            onClick={() => {
              setStop(true);
            }}
          >
            Stop what is executing too…
          </Button>
        ) : (
          <Button
            look="danger"
            data-autofocus
            hint="Enter"
            aria-disabled={count === undefined}
            onClick={() => {
              if (count === undefined) return;
              onSend(closing(stop, preview.data?.etag, newKey()));
            }}
          >
            {count === undefined ? "Looking…" : stop ? "Stop and close" : "Dismiss"}
          </Button>
        )}
      </div>
    </Dialog>
  );
}

function With({ count, stop }: { count: number; stop: boolean }) {
  return (
    <>
      {" "}
      and closes{" "}
      <strong className="font-semibold">
        {count} open {count === 1 ? "sub-thread" : "sub-threads"}
      </strong>
      {stop ? "; what is executing is told to stop" : "; nothing is executed"}
    </>
  );
}
