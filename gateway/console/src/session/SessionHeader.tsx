// A session's title and facts, and what can be done with it as a whole.
import { useState } from "react";
import { visible } from "../text/visible";
import { Button } from "../ui/Button";
import { Notice } from "../ui/Notice";
import { abort, type Session } from "./api";
import type { TurnState } from "./events";
import { SessionState } from "./SessionState";
import type { StreamStatus } from "./stream";
import { SIDES, type Side } from "./sides";
import { titleOf } from "./title";

interface Props {
  session: Session;
  state: TurnState;
  status: StreamStatus;
  /** What is shown beside the conversation. */
  side: Side | undefined;
  /** How many there are. */
  workers: number;
  resuming: boolean;
  refused: Error | undefined;
  onSide: (side: Side) => void;
  onResume: () => void;
}

export function SessionHeader({
  session,
  state,
  status,
  side,
  workers,
  resuming,
  refused,
  onSide,
  onResume,
}: Props) {
  const [unstopped, setUnstopped] = useState<Error>();
  const [stopping, setStopping] = useState(false);
  const busy = state === "running" || state === "waiting";
  const stop = async (): Promise<void> => {
    setUnstopped(undefined);
    setStopping(true);
    try {
      await abort(session.id);
    } catch (error) {
      setUnstopped(error as Error);
    } finally {
      setStopping(false);
    }
  };
  const model = [session.provider, session.model].filter((part) => part !== "").join(" / ");
  return (
    <header className="flex flex-col gap-2 border-b border-line px-8 py-3 max-lg:px-4">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <div className="min-w-0 flex-1 basis-56">
          <h1
            id="session-title"
            className="truncate font-serif text-xl font-medium max-sm:text-lg"
            title={visible(titleOf(session))}
          >
            {visible(titleOf(session))}
          </h1>
          <p className="flex flex-wrap items-center gap-x-3 gap-y-1 text-xs text-faint">
            <SessionState state={state} />
            <span>{visible([session.adapter, model].filter((part) => part !== "").join(" · "))}</span>
            <span>thinking {session.thinking}</span>
            {session.agent === "starting" ? <span>agent starting</span> : null}
            {status === "lost" ? <span className="text-madder">reconnecting</span> : null}
          </p>
        </div>
        <div className="flex flex-wrap items-center gap-2">
          {busy ? (
            <Button disabled={stopping} onClick={() => void stop()}>
              {stopping ? "Stopping…" : "Abort"}
            </Button>
          ) : null}
          <Button
            disabled={resuming}
            onClick={onResume}
            hint="u"
            title="Start the agent again where it left off"
          >
            {resuming ? "Resuming…" : "Resume"}
          </Button>
          {(Object.keys(SIDES) as Side[]).map((name) => (
            <Button
              key={name}
              look="bare"
              aria-pressed={side === name}
              hint={SIDES[name].key}
              className="aria-pressed:bg-sunk aria-pressed:text-ink max-sm:!px-2"
              onClick={() => {
                onSide(name);
              }}
            >
              {SIDES[name].title}
              {name === "workers" && workers > 0 ? (
                <span className="rounded-full bg-line px-1.5 text-xs tabular-nums">{workers}</span>
              ) : null}
            </Button>
          ))}
        </div>
      </div>
      {refused ? (
        <Notice tone="warn" title="The session was not resumed">
          {refused.message} What you see goes on as it was.
        </Notice>
      ) : null}
      {unstopped && busy ? (
        <Notice tone="warn" title="The turn was not stopped">
          {unstopped.message}
        </Notice>
      ) : null}
    </header>
  );
}
