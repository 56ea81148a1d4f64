// What was added to the words of the person before the agent saw them: what did it know when it decided?
import { usePlanContext } from "../plan/api";
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
  /** Undefined while only the stream knows of the turn. */
  number: number | undefined;
  onClose: () => void;
}

interface Words {
  text: string;
  sha256: string;
  create_time?: string;
}

const ROLES: Partial<Record<string, string>> = {
  coordinator: "As a coordinator",
  worker: "As a worker",
};

export function Told({ session, turn, number, onClose }: Props) {
  const injection = useInjection(session, turn);
  const context = usePlanContext(session, turn, number);
  const queries = [injection, context];
  const failed = queries.find(({ error }) => error);
  const pending = queries.some(({ isPending }) => isPending);
  const [role, plan] = [worded(injection.data), worded(context.data)];
  return (
    <Dialog title="What the agent was told" wide onClose={onClose}>
      {failed?.error ? (
        <ReadError error={failed.error} what="It" onRetry={() => void failed.refetch()} />
      ) : null}
      {pending ? <Skeleton lines={5} /> : null}
      {!pending && !failed && !role && !plan ? (
        <p className="text-sm text-muted">Nothing was added to the words of the person.</p>
      ) : null}
      {role ? <Part words={role} title={ROLES[injection.data?.role ?? ""] ?? "By coordination"} /> : null}
      {plan ? <Part words={plan} title="Of objective and plan" /> : null}
      <div className="flex justify-end">
        <Button onClick={onClose} data-autofocus hint="Esc">
          Close
        </Button>
      </div>
    </Dialog>
  );
}

function Part({ words, title }: { words: Words; title: string }) {
  return (
    <section aria-label={title} className="flex flex-col gap-2">
      <p className="flex flex-wrap gap-x-3 text-xs text-faint">
        <span>{title}</span>
        {words.create_time ? <Ago time={words.create_time} long /> : null}
      </p>
      <pre
        data-told
        tabIndex={0}
        aria-label={`What the agent was told: ${title}`}
        className="max-h-[45dvh] overflow-auto whitespace-pre-wrap rounded-md border border-line bg-raised px-4 py-3 font-mono text-sm [overflow-wrap:anywhere]"
      >
        {visible(words.text)}
      </pre>
      <p className="font-mono text-xs text-faint [overflow-wrap:anywhere]">SHA-256 {words.sha256}</p>
    </section>
  );
}

function worded(words: Words | null | undefined): Words | undefined {
  return words && words.text !== "" ? words : undefined;
}
