// List and thread: side by side on a wide screen, one at a time on a narrow one. Owns the cursor and the moving keys.
import { useEffect, useState } from "react";
import { at, NOWHERE, step } from "../inbox/cursor";
import { ListPane, useList } from "../inbox/ListPane";
import { useKeys } from "../keys/useKeys";
import { ThreadView } from "../thread/ThreadView";
import { Button } from "../ui/Button";
import { Empty } from "../ui/Quiet";
import { Help } from "./Help";
import { Masthead } from "./Masthead";
import { NewThread } from "./NewThread";
import { navigate, useRoute, useWide } from "./router";

export function Console() {
  const route = useRoute();
  const wide = useWide();
  const list = useList(route);
  const [moved, setCursor] = useState(NOWHERE);
  const [dialog, setDialog] = useState<"new" | "help">();
  const ids = list.threads.map((thread) => thread.id);

  // The address wins; else where the cursor is; else, where there is room to show it, the first of the list.
  const first = wide && ids[0] !== undefined ? at(ids, ids[0]) : NOWHERE;
  const id = route.threadId ?? moved.id;
  const cursor = id === undefined ? first : at(ids, id, moved);
  if (cursor.id !== moved.id || cursor.index !== moved.index) setCursor(cursor);
  const shown = route.threadId ?? (wide ? cursor.id : undefined);
  const bare = { ...route, threadId: undefined };

  const open = (id: string): void => {
    if (id !== route.threadId) navigate({ ...route, threadId: id });
  };
  const move = (by: 1 | -1): void => {
    const next = step(ids, cursor, by);
    if (next.id === undefined) return;
    setCursor(next);
    if (route.threadId !== undefined) navigate({ ...route, threadId: next.id }, { replace: true });
    if (wide || route.threadId === undefined) focusRow(next.id);
  };
  const decideFirst = cursor.id !== undefined && shown === undefined ? cursor.id : undefined;
  const openFirst = (): void => {
    if (decideFirst !== undefined) open(decideFirst);
  };
  useKeys({
    j: () => {
      move(1);
    },
    k: () => {
      move(-1);
    },
    Enter: () => {
      if (cursor.id !== undefined) open(cursor.id);
    },
    Escape: () => {
      if (list.batch.selecting) {
        list.batch.clear();
        return;
      }
      if (route.threadId === undefined) return;
      navigate(bare);
      if (wide) focusRow(route.threadId);
    },
    g: () => {
      navigate({ threadId: undefined, view: route.view === "all" ? "inbox" : "all", filter: "", words: "" });
    },
    "/": () => {
      document.querySelector<HTMLElement>("[data-search]")?.focus();
    },
    n: () => {
      setDialog("new");
    },
    "?": () => {
      setDialog("help");
    },
    // On a narrow list nothing is approved unseen: the deciding keys open the thread first.
    a: openFirst,
    r: openFirst,
    d: openFirst,
    e: openFirst,
    x: openFirst,
    s: openFirst,
  });
  useTitle(list.waiting, list.threads.find((thread) => thread.id === route.threadId)?.title);

  const closeDialog = (): void => {
    setDialog(undefined);
  };
  const startNew = (): void => {
    setDialog("new");
  };
  return (
    <div className="flex min-h-dvh flex-col lg:h-dvh">
      <Masthead
        onNew={startNew}
        onHelp={() => {
          setDialog("help");
        }}
      />
      <main className="grid min-h-0 flex-1 lg:grid-cols-[minmax(20rem,26rem)_minmax(0,1fr)]">
        {wide || route.threadId === undefined ? (
          <div className="min-w-0 lg:overflow-y-auto lg:border-r lg:border-line">
            <ListPane
              list={list}
              route={route}
              currentId={cursor.id}
              onOpen={open}
              onFocus={(id) => {
                setCursor(at(ids, id));
              }}
              onNew={startNew}
            />
          </div>
        ) : null}
        {wide || route.threadId !== undefined ? (
          <div className="min-w-0 lg:overflow-y-auto">
            {wide ? null : (
              <Button
                look="bare"
                className="mx-1 mt-2"
                onClick={() => {
                  navigate(bare);
                }}
              >
                ← {route.view === "all" ? "All threads" : "Inbox"}
              </Button>
            )}
            {shown === undefined ? (
              list.query.isSuccess ? (
                <Empty title="All quiet">The thread that you pick on the left is shown here.</Empty>
              ) : null
            ) : (
              <ThreadView key={shown} id={shown} focus={route.threadId !== undefined} />
            )}
          </div>
        ) : null}
      </main>
      {dialog === "help" ? <Help onClose={closeDialog} /> : null}
      {dialog === "new" ? (
        <NewThread
          onClose={closeDialog}
          onCreated={(id) => {
            closeDialog();
            navigate({ ...route, threadId: id });
          }}
        />
      ) : null}
    </div>
  );
}

function focusRow(id: string): void {
  // After the render that the step causes: the row may have moved.
  requestAnimationFrame(() => {
    document.querySelector<HTMLElement>(`[data-row="${CSS.escape(id)}"]`)?.focus();
  });
}

function useTitle(waiting: number, title: string | undefined): void {
  useEffect(() => {
    const count = waiting > 0 ? `(${waiting}) ` : "";
    document.title = title ? `${count}${title} · Treadle` : `${count}Treadle`;
  }, [waiting, title]);
}
