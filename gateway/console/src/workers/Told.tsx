// What was added to the words of the person before the agent saw them: what did it know when it decided?
import { visible } from "../text/visible";
import { Ago } from "../ui/Ago";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { ReadError } from "../ui/Notice";
import { Skeleton } from "../ui/Quiet";
import { useInjection } from "./api";

interface Props {
  session: string;
  turn: string;
  onClose: () => void;
}

const ROLES: Partial<Record<string, string>> = {
  coordinator: "As a coordinator",
  worker: "As a worker",
};

export function Told({ session, turn, onClose }: Props) {
  const query = useInjection(session, turn);
  const told = query.data;
  return (
    <Dialog title="What the agent was told" wide onClose={onClose}>
      {query.error ? <ReadError error={query.error} what="It" onRetry={() => void query.refetch()} /> : null}
      {query.isPending ? <Skeleton lines={5} /> : null}
      {told === null || told?.text === "" ? (
        <p className="text-sm text-muted">Nothing was added to the words of the person.</p>
      ) : null}
      {told && told.text !== "" ? (
        <>
          <p className="flex flex-wrap gap-x-3 text-xs text-faint">
            {ROLES[told.role] ? <span>{ROLES[told.role]}</span> : null}
            {told.create_time ? <Ago time={told.create_time} long /> : null}
          </p>
          <pre
            data-told
            tabIndex={0}
            aria-label="What the agent was told"
            className="max-h-[60dvh] overflow-auto whitespace-pre-wrap rounded-md border border-line bg-raised px-4 py-3 font-mono text-sm [overflow-wrap:anywhere]"
          >
            {visible(told.text)}
          </pre>
          <p className="font-mono text-xs text-faint [overflow-wrap:anywhere]">SHA-256 {told.sha256}</p>
        </>
      ) : null}
      <div className="flex justify-end">
        <Button onClick={onClose} data-autofocus hint="Esc">
          Close
        </Button>
      </div>
    </Dialog>
  );
}
