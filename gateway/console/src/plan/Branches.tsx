// The conversation with all its branches: each turn once, with what one would begin with there; and what two plans
// have apart.
import { useState } from "react";
import { useSessions, useSessionsOf } from "../session/api";
import { titleOf } from "../session/title";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { Notice, ReadError } from "../ui/Notice";
import { Skeleton } from "../ui/Quiet";
import { useGraph } from "./api";
import { DiffView } from "./DiffView";
import { GraphView } from "./GraphView";
import { distinct } from "./names";
import { refused } from "./refused";
import { useContinue } from "./useContinue";

interface Props {
  session: string;
  onClose: () => void;
}

export function Branches({ session, onClose }: Props) {
  const query = useGraph(session);
  const sessions = useSessions();
  const go = useContinue();
  const [other, setOther] = useState<string>();
  const known = new Map(
    (sessions.data?.pages ?? []).flatMap((page) => page.sessions ?? []).map((one) => [one.id, titleOf(one)]),
  );
  const heads = query.data?.heads ?? [];
  // The list is read page by page: a branch that is not in it (yet) is asked for by itself.
  const others = useSessionsOf(heads.map(({ session_id }) => session_id).filter((id) => !known.has(id)));
  const names = distinct(
    heads.map(({ session_id: id }) => [id, known.get(id) ?? others.get(id) ?? "A session"]),
  );
  const nameOf = (id: string): string => names.get(id) ?? "A session";
  return (
    <Dialog
      title={other === undefined ? "Branches" : `Compared with ${nameOf(other)}`}
      wide
      onClose={onClose}
    >
      {query.error ? (
        <ReadError error={query.error} what="The branches" onRetry={() => void query.refetch()} />
      ) : null}
      {query.isPending ? <Skeleton lines={5} /> : null}
      {go.error ? (
        <Notice tone="warn" title="The branch was not made">
          {refused(go.error)}
        </Notice>
      ) : null}
      {query.data && other === undefined ? (
        <GraphView
          session={session}
          graph={query.data}
          nameOf={nameOf}
          busy={go.busy}
          onContinue={(node) => {
            void go.from(node.session_id, node.number);
          }}
          onCompare={setOther}
          onOpened={onClose}
        />
      ) : null}
      {other === undefined ? null : <DiffView session={session} other={other} name={nameOf(other)} />}
      <div className="flex justify-between gap-2">
        {other === undefined ? (
          <span />
        ) : (
          <Button
            look="bare"
            onClick={() => {
              setOther(undefined);
            }}
          >
            ← Branches
          </Button>
        )}
        <Button onClick={onClose} data-autofocus hint="Esc">
          Close
        </Button>
      </div>
    </Dialog>
  );
}
