// A group umbrella's sub-threads as columns, their items as cards that go from one to another: by pointer, or by keyboard.
import { useState } from "react";
import type { ContextItem, Outcomes, Thread } from "../api/types";
import { ThreadLink } from "../family/ThreadLink";
import { useKeys } from "../keys/useKeys";
import { wordsOf } from "../text/states";
import { visible } from "../text/visible";
import { Button } from "../ui/Button";
import { ReadError } from "../ui/Notice";
import { Skeleton } from "../ui/Quiet";
import { ApproveAll, ApprovedAll } from "./ApproveAll";
import { BoardNotice } from "./BoardNotice";
import { approvable, keyOf, movable, partsOf, plan, type Column, type Key } from "./placing";
import { canMove, Columns } from "./Columns";
import { DeleteGroup } from "./DeleteGroup";
import { ItemDetail } from "./ItemDetail";
import { MovePicker, NEW } from "./MovePicker";
import { subject } from "./selection";
import { useBoard } from "./useBoard";
import { useChoosing } from "./useChoosing";
import { useDrag } from "./useDrag";

type Opened =
  | { what: "move"; keys: readonly Key[] }
  | { what: "delete"; column: Column }
  | { what: "approve"; groups: readonly Thread[] }
  | { what: "item"; item: ContextItem };

export function Board({ umbrella }: { umbrella: Thread }) {
  const board = useBoard(umbrella.id);
  const { columns, query } = board;
  const choosing = useChoosing(columns);
  const [opened, setOpened] = useState<Opened>();
  const [outcomes, setOutcomes] = useState<Outcomes>();
  const live = umbrella.display_mode !== "terminal";

  const moveTo = async (keys: readonly Key[], target: string): Promise<void> => {
    setOpened(undefined);
    const to = target === NEW ? (await board.spawn(""))?.id : target;
    if (to === undefined) return;
    const moves = plan(columns, keys, to);
    const first = moves[0]?.items[0];
    choosing.clear();
    if (first === undefined) return;
    choosing.follow(keyOf(to, first));
    board.move(moves);
  };
  const {
    drag,
    ghost,
    board: surface,
    begin,
    wasDrag,
  } = useDrag({ onDrop: (keys, target) => void moveTo(keys, target) });

  const ready = columns.filter(({ thread }) => approvable(thread)).map(({ thread }) => thread);
  const askApprove = (): void => {
    if (ready.length > 0) setOpened({ what: "approve", groups: ready });
  };
  const askMove = (): void => {
    const keys = subject(choosing.selection, choosing.focused()).filter((key) => canMove(columns, key));
    if (keys.length > 0) setOpened({ what: "move", keys });
  };
  const chosen = choosing.selection.chosen;
  useKeys({
    a: ready.length > 0 ? askApprove : undefined,
    J: () => {
      choosing.walk(1);
    },
    K: () => {
      choosing.walk(-1);
    },
    m: askMove,
    Escape: chosen.length > 0 ? choosing.clear : undefined,
  });
  const askDelete = (column: Column): void => {
    if (column.items.length > 0 || columns.length === 1) setOpened({ what: "delete", column });
    else void board.remove(column.thread.id);
  };
  const close = (): void => {
    setOpened(undefined);
  };
  const titles = new Map(
    [...columns.map(({ thread }) => thread), ...board.ended].map((t) => [t.id, t.title]),
  );

  return (
    <section aria-label="Groups" className="flex flex-col gap-3" onKeyDown={choosing.onKeyDown}>
      <div className="flex min-h-8 flex-wrap items-center gap-3">
        <h2 className="eyebrow">Groups</h2>
        {chosen.length > 0 ? (
          <div role="status" className="flex flex-wrap items-center gap-2 text-sm">
            <span>{chosen.length} selected</span>
            <Button hint="m" onClick={askMove}>
              Move to…
            </Button>
            <Button look="bare" hint="Esc" onClick={choosing.clear}>
              Select none
            </Button>
          </div>
        ) : null}
        {live ? (
          <Button
            look="primary"
            className="ml-auto"
            hint="a"
            disabled={ready.length === 0 || board.busy.includes("all")}
            onClick={askApprove}
          >
            {board.busy.includes("all") ? "Approving…" : `Approve all (${ready.length})`}
          </Button>
        ) : null}
      </div>
      {board.failure ? <BoardNotice failure={board.failure} onClose={board.clearFailure} /> : null}
      {outcomes ? (
        <ApprovedAll
          outcomes={outcomes}
          titles={titles}
          onClose={() => {
            setOutcomes(undefined);
          }}
        />
      ) : null}
      {query.error ? (
        <ReadError error={query.error} what="The groups" onRetry={() => void query.refetch()} />
      ) : null}
      {query.isPending ? <Skeleton lines={3} /> : null}
      <Columns
        board={board}
        choosing={choosing}
        drag={drag}
        surface={surface}
        live={live && query.isSuccess}
        wasDrag={wasDrag}
        onGrab={begin}
        onDelete={askDelete}
        onOpen={(item) => {
          setOpened({ what: "item", item });
        }}
      />
      {query.hasNextPage ? (
        <Button className="self-start" onClick={() => void query.fetchNextPage()}>
          Show more groups
        </Button>
      ) : null}
      <Ended threads={board.ended} />
      {drag ? (
        <div
          ref={ghost}
          aria-hidden
          className="pointer-events-none fixed left-0 top-0 z-20 rounded-md bg-indigo px-3 py-1 text-sm font-medium text-indigo-ink shadow-lg"
        >
          {drag.keys.length} {drag.keys.length === 1 ? "item" : "items"}
        </div>
      ) : null}
      {opened?.what === "move" ? (
        <MovePicker
          count={opened.keys.length}
          targets={targetsOf(columns, opened.keys)}
          onPick={(target) => void moveTo(opened.keys, target)}
          onClose={close}
        />
      ) : null}
      {opened?.what === "delete" ? (
        <DeleteGroup
          column={opened.column}
          last={columns.length === 1}
          onYes={() => {
            close();
            void board.remove(opened.column.thread.id);
          }}
          onClose={close}
        />
      ) : null}
      {opened?.what === "approve" ? (
        <ApproveAll
          groups={opened.groups}
          onApprove={(items) => {
            close();
            setOutcomes(undefined);
            void board.approveAll(items).then(setOutcomes);
          }}
          onClose={close}
        />
      ) : null}
      {opened?.what === "item" ? <ItemDetail item={opened.item} onClose={close} /> : null}
    </section>
  );
}

/** Columns that may get the items: not the one that all of them are in already. */
function targetsOf(columns: readonly Column[], keys: readonly Key[]): Thread[] {
  return columns
    .filter(({ thread }) => movable(thread) && keys.some((key) => partsOf(key).column !== thread.id))
    .map(({ thread }) => thread);
}

function Ended({ threads }: { threads: readonly Thread[] }) {
  if (threads.length === 0) return null;
  return (
    <p className="text-sm text-muted [overflow-wrap:anywhere]">
      Ended:{" "}
      {threads.map((thread, index) => (
        <span key={thread.id}>
          {index > 0 ? ", " : ""}
          <ThreadLink id={thread.id}>{visible(thread.title)}</ThreadLink> (
          {wordsOf(thread.state).label.toLowerCase()})
        </span>
      ))}
    </p>
  );
}
