// The list of sessions, and the one that is open. Owns what the person has in hand (desk.ts).
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useReducer, useState } from "react";
import { newKey } from "../api/http";
import { useKeys } from "../keys/useKeys";
import { resume, sessionKeys, useSession, useSessions, type Session } from "../session/api";
import { SessionView } from "../session/SessionView";
import { titleOf } from "../session/title";
import { Help } from "../shell/Help";
import { Masthead } from "../shell/Masthead";
import { go, useWide } from "../shell/router";
import { Button } from "../ui/Button";
import { Empty } from "../ui/Quiet";
import { desk, type DeleteResult, type Desk } from "./desk";
import { NewSession } from "./NewSession";
import { sessionUrl } from "./path";
import { SessionList } from "./SessionList";
import { rememberWorkers, showsWorkers } from "./shown";

/** Where the activity has room beside the conversation it is shown from the start. */
const ROOMY = "(min-width: 1280px)";

export function SessionsPage({ id }: { id: string | undefined }) {
  const client = useQueryClient();
  const wide = useWide();
  const [workers, setWorkers] = useState(showsWorkers);
  const list = useSessions(workers);
  const sessions = list.data?.pages.flatMap((page) => page.sessions ?? []) ?? [];
  const [dialog, setDialog] = useState<"new" | "help">();
  const [fresh, setFresh] = useState<string>();
  const [hand, dispatch] = useReducer(desk, id, atFirst);
  if (hand.active !== id) dispatch({ type: "opened", id, roomy: roomy() });

  const onResume = async (session: string): Promise<Error | undefined> => {
    const token = newKey();
    dispatch({ type: "resuming", id: session, token });
    try {
      await resume(session, token);
      dispatch({ type: "resumed", id: session, token, ok: true });
      void client.invalidateQueries({ queryKey: sessionKeys.one(session) });
      return undefined;
    } catch (error) {
      dispatch({ type: "resumed", id: session, token, ok: false });
      return error as Error;
    }
  };
  const onDeleted = (results: readonly DeleteResult[]): void => {
    dispatch({ type: "deleted", results });
    void client.invalidateQueries({ queryKey: sessionKeys.list });
    if (results.some((result) => result.ok && result.id === id)) go("/sessions", { replace: true });
  };
  const move = (by: 1 | -1): void => {
    const focused = document.activeElement?.getAttribute("data-session-row") ?? id;
    const here = sessions.findIndex((session) => session.id === focused);
    const next = sessions[here === -1 ? 0 : Math.min(Math.max(here + by, 0), sessions.length - 1)];
    if (next) focusRow(next.id);
  };
  useKeys({
    j: () => {
      move(1);
    },
    k: () => {
      move(-1);
    },
    n: () => {
      setDialog("new");
    },
    "?": () => {
      setDialog("help");
    },
    Escape: () => {
      if (hand.selection.length > 0) dispatch({ type: "selected", ids: [] });
      else if (id !== undefined) go("/sessions");
    },
  });
  const listed = sessions.find((session) => session.id === id);
  const looked = useSession(id ?? "", id !== undefined && listed === undefined);
  const open = listed ?? looked.data;
  const title = open ? titleOf(open) : "Sessions";
  useEffect(() => {
    document.title = `${title} · Treadle`;
  }, [title]);

  return (
    <div className="flex h-dvh flex-col">
      <Masthead
        page="sessions"
        onNew={() => {
          setDialog("new");
        }}
        onHelp={() => {
          setDialog("help");
        }}
      />
      <main className="grid min-h-0 flex-1 grid-cols-[minmax(0,1fr)] lg:grid-cols-[18rem_minmax(0,1fr)]">
        {wide || id === undefined ? (
          <div className="min-h-0 min-w-0 overflow-y-auto lg:border-r lg:border-line">
            <SessionList
              query={list}
              sessions={sessions}
              activeId={id}
              workers={workers}
              onWorkers={(shown) => {
                rememberWorkers(shown);
                setWorkers(shown);
              }}
              selection={hand.selection}
              dispatch={dispatch}
              onDeleted={onDeleted}
              onNew={() => {
                setDialog("new");
              }}
            />
          </div>
        ) : null}
        {wide || id !== undefined ? (
          <div className="flex min-h-0 min-w-0 flex-col">
            {wide ? null : (
              <Button
                look="bare"
                className="mx-1 mt-1 self-start"
                onClick={() => {
                  go("/sessions");
                }}
              >
                ← Sessions
              </Button>
            )}
            {id === undefined ? (
              <Empty title="No session is open">The session that you pick on the left is shown here.</Empty>
            ) : (
              <div className="min-h-0 flex-1">
                <SessionView
                  key={id}
                  id={id}
                  streamKey={hand.streamKey[id] ?? 0}
                  panel={hand.panel}
                  fresh={fresh === id}
                  resuming={hand.resuming[id] !== undefined}
                  onPanel={(shown) => {
                    dispatch({ type: "panel", shown });
                  }}
                  onResume={() => onResume(id)}
                />
              </div>
            )}
          </div>
        ) : null}
      </main>
      {dialog === "help" ? (
        <Help
          onClose={() => {
            setDialog(undefined);
          }}
        />
      ) : null}
      {dialog === "new" ? (
        <NewSession
          onClose={() => {
            setDialog(undefined);
          }}
          onCreated={(session: Session) => {
            setDialog(undefined);
            client.setQueryData(sessionKeys.one(session.id), session);
            void client.invalidateQueries({ queryKey: sessionKeys.list });
            setFresh(session.id);
            go(sessionUrl(session.id));
          }}
        />
      ) : null}
    </div>
  );
}

function atFirst(id: string | undefined): Desk {
  return { selection: [], active: id, panel: roomy(), resuming: {}, streamKey: {} };
}

function roomy(): boolean {
  return window.matchMedia(ROOMY).matches;
}

function focusRow(id: string): void {
  document.querySelector<HTMLElement>(`[data-session-row="${CSS.escape(id)}"]`)?.focus();
}
