// What became of the board's last call: a refusal, with what was undone.
import { Button } from "../ui/Button";
import { Notice } from "../ui/Notice";
import type { Failure } from "./useBoard";

export function BoardNotice({ failure, onClose }: { failure: Failure; onClose: () => void }) {
  const { what, problem } = failure;
  return (
    <Notice
      tone="warn"
      title={what}
      actions={
        <Button look="bare" onClick={onClose}>
          Close
        </Button>
      }
    >
      {problem.detail || problem.title}
    </Notice>
  );
}
