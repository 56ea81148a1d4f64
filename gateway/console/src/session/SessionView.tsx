// One session: what was said, the open gates, the activity beside it, and the box to write in.
import { useState } from "react";
import { Problem } from "../api/http";
import { GateWidget } from "../gates/GateWidget";
import { useKeys } from "../keys/useKeys";
import { BranchOf } from "../plan/BranchOf";
import { PlanPanel } from "../plan/PlanPanel";
import { Button } from "../ui/Button";
import { ReadError } from "../ui/Notice";
import { useAssignment, useRoster } from "../workers/api";
import { useThreadMode } from "../workers/useThreadMode";
import { WorkerOf } from "../workers/WorkerOf";
import { WorkersPanel } from "../workers/WorkersPanel";
import { Empty, Skeleton } from "../ui/Quiet";
import { ActivityPanel } from "./ActivityPanel";
import { useMessages, useOpenGates, useSession, type Gate } from "./api";
import { Composer } from "./Composer";
import { Conversation } from "./Conversation";
import { conversation } from "./said";
import { Matters } from "./Matters";
import type { OpenGate } from "./projection";
import { SessionHeader } from "./SessionHeader";
import { SIDES, type Side } from "./sides";
import { useFollow } from "./useFollow";
import { TurnActions } from "./TurnActions";
import { useStream } from "./useStream";

interface Props {
  id: string;
  streamKey: number;
  panel: boolean;
  resuming: boolean;
  /** It was started a moment ago, from here: the person wants to write. */
  fresh: boolean;
  onPanel: (shown: boolean) => void;
  /** Answers why not, where it was refused. */
  onResume: () => Promise<Error | undefined>;
}

export function SessionView({ id, streamKey, panel, resuming, fresh, onPanel, onResume }: Props) {
  const query = useSession(id);
  // An address that names no session at all is refused (400) rather than looked for.
  const missing = query.error instanceof Problem && [400, 404].includes(query.error.status);
  const { projection, dispatch, status } = useStream(id, streamKey, missing);
  const messages = useMessages(id);
  const kept = useOpenGates(id);
  const [refused, setRefused] = useState<Error>();
  const said = conversation(messages.data ?? [], projection);
  const gates = openGates(projection.gates, kept.data ?? [], projection.state);
  const { scroller, onScroll } = useFollow();
  const roster = useRoster(id);
  const assignment = useAssignment(id);
  const mode = useThreadMode(id, roster.data);
  const workers = roster.data?.threads ?? [];
  const told = roster.data != null || assignment.data != null;
  const [chosen, choose] = useState<Side>();
  // Where there are workers they are what one wants to see, from then on, until one says otherwise.
  if (chosen === undefined && (workers.length > 0 || mode.on)) choose("workers");
  const side = chosen ?? "activity";
  const show = (wanted: Side): void => {
    choose(wanted);
    onPanel(!panel || side !== wanted);
  };
  const resume = (): void => {
    setRefused(undefined);
    void onResume().then((error) => {
      setRefused(error);
      if (!error) mode.again();
    });
  };
  const onGate = (): void => {
    if (gates.length > 0 && !window.matchMedia("(min-width: 1280px)").matches) onPanel(false);
    // After the drawing that this causes: the question may have been behind the activity.
    requestAnimationFrame(() => {
      document.querySelector<HTMLElement>("[data-gate] :is(button, input, textarea):enabled")?.focus();
    });
  };
  useKeys({
    i: () => {
      document.querySelector<HTMLElement>("[data-prompt]")?.focus();
    },
    g: () => {
      onGate();
    },
    v: () => {
      show("activity");
    },
    w: () => {
      show("workers");
    },
    p: () => {
      show("plan");
    },
    u: resuming ? undefined : resume,
  });

  if (projection.deleted)
    return <Empty title="This session was deleted">What it said is gone with it.</Empty>;
  if (missing) {
    return (
      <Empty title="There is no such session">It may have been deleted, or the address is mistyped.</Empty>
    );
  }
  const session = query.data;
  if (!session) {
    return query.error ? (
      <div className="p-6">
        <ReadError error={query.error} what="The session" onRetry={() => void query.refetch()} />
      </div>
    ) : (
      <Skeleton lines={6} />
    );
  }
  const state = projection.state ?? session.state;
  const busy = state === "running" || state === "waiting";
  return (
    <article
      aria-labelledby="session-title"
      data-session={id}
      data-stream={status}
      className="flex h-full min-h-0 min-w-0 flex-col short:overflow-y-auto"
    >
      <SessionHeader
        session={session}
        state={state}
        status={status}
        side={panel ? side : undefined}
        workers={workers.length}
        resuming={resuming}
        refused={refused}
        onSide={show}
        onResume={resume}
      />
      <BranchOf session={session} />
      <Matters session={session} />
      {assignment.data ? <WorkerOf worker={assignment.data} /> : null}
      <div
        className={`grid min-h-0 flex-1 short:min-h-80 short:shrink-0 grid-cols-[minmax(0,1fr)] grid-rows-[minmax(0,1fr)_auto] ${panel ? "xl:grid-cols-[minmax(0,1fr)_22rem]" : ""}`}
      >
        <div className={`flex min-h-0 min-w-0 flex-col ${panel ? "max-xl:hidden" : ""}`}>
          <div
            ref={scroller}
            onScroll={onScroll}
            className="min-h-0 flex-1 overflow-y-auto px-8 py-6 max-lg:px-4 max-lg:py-4"
          >
            <div className="mx-auto flex max-w-3xl flex-col gap-6">
              {messages.error ? (
                <ReadError
                  error={messages.error}
                  what="What was said before"
                  onRetry={() => void messages.refetch()}
                />
              ) : null}
              {said.length === 0 && gates.length === 0 ? (
                <Empty title="Nothing was said yet">
                  The answer appears here; what the model thinks and does on the way, in the activity.
                </Empty>
              ) : null}
              <Conversation
                said={said}
                actions={(turn) =>
                  turn.id.startsWith("trn_") ? (
                    <TurnActions session={id} turn={turn} told={told} last={turn === said.at(-1)} />
                  ) : null
                }
              />
              {gates.map((gate) => (
                <GateWidget key={gate.id} session={id} gate={gate} />
              ))}
            </div>
          </div>
        </div>
        {panel ? (
          <aside
            aria-label={SIDES[side].label}
            className="flex min-h-0 min-w-0 flex-col xl:col-start-2 xl:row-span-2 xl:row-start-1 xl:border-l xl:border-line"
          >
            <div className="flex items-center justify-between border-b border-line px-4">
              <h2 className="eyebrow py-2">{SIDES[side].title}</h2>
              <Button
                look="bare"
                className="-mr-3 xl:hidden"
                onClick={() => {
                  onPanel(false);
                }}
              >
                Conversation
              </Button>
            </div>
            {gates.length > 0 ? (
              <button
                type="button"
                className="bg-weld-wash px-4 py-2 text-left text-sm text-weld xl:hidden"
                onClick={onGate}
              >
                The agent asks something. Show it
              </button>
            ) : null}
            {side === "activity" ? <ActivityPanel activity={projection.activity} /> : null}
            {side === "plan" ? <PlanPanel session={id} /> : null}
            {side === "workers" ? (
              <WorkersPanel session={session} query={roster} mode={mode} isWorker={assignment.data != null} />
            ) : null}
          </aside>
        ) : null}
        <div className={`border-t border-line px-8 py-3 max-lg:px-4 ${panel ? "short:max-xl:hidden" : ""}`}>
          <div className="mx-auto max-w-3xl">
            <Composer id={id} busy={busy} waiting={state === "waiting"} focus={fresh} dispatch={dispatch} />
          </div>
        </div>
      </div>
    </article>
  );
}

/** What the stream says of a gate wins; of one that it does not name any more, the service's list. */
function openGates(told: readonly OpenGate[], kept: readonly Gate[], state: string | undefined): OpenGate[] {
  const known = new Set(told.map(({ id }) => id));
  const others = kept.filter(({ id }) => !known.has(id) && state === "waiting");
  return [
    ...others.map(({ id, kind, state, proposal }) => ({ id, kind, state, proposal })),
    ...told.filter(({ state }) => state === "open"),
  ];
}
