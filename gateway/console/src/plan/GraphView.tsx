// The graph as rows: on the left the drawing, on the right what the turn was and what can be done from there.
import { SessionLink } from "../sessions/SessionLink";
import { useMedia } from "../shell/router";
import { visible } from "../text/visible";
import { Ago } from "../ui/Ago";
import { Button } from "../ui/Button";
import { layout, type Row } from "./layout";
import type { Graph, Head, Node } from "./types";

interface Props {
  session: string;
  graph: Graph;
  nameOf: (session: string) => string;
  busy: boolean;
  onContinue: (node: Node) => void;
  onCompare: (session: string) => void;
  onOpened: () => void;
}

/** Pixels: of a row, between lanes, of all lanes together. */
const ROOMY = { row: 60, gap: 16, widest: 112 };
const NARROW = { row: 92, gap: 10, widest: 56 };

export function GraphView(props: Props) {
  const { rows, edges, lanes } = layout(props.graph);
  const { row: ROW, gap: most, widest } = useMedia("(min-width: 640px)") ? ROOMY : NARROW;
  const gap = Math.min(most, widest / lanes);
  const x = (lane: number): number => 10 + lane * gap;
  const y = (row: number): number => ROW / 2 + row * ROW;
  if (rows.length === 0)
    return <p className="text-sm text-muted">Nothing was said yet: there is nothing to branch from.</p>;
  return (
    <div className="relative max-h-[60dvh] overflow-y-auto" tabIndex={0} role="group" aria-label="Graph">
      <svg
        aria-hidden
        width={x(lanes - 1) + 10}
        height={rows.length * ROW}
        className="absolute left-0 top-0 text-line-strong"
      >
        {edges.map(({ from, to }, index) => (
          <path
            key={index}
            fill="none"
            stroke="currentColor"
            strokeWidth="2"
            d={
              from.lane === to.lane
                ? `M${String(x(from.lane))} ${String(y(from.row))}V${String(y(to.row))}`
                : `M${String(x(from.lane))} ${String(y(from.row))}C${String(x(to.lane))} ${String(y(from.row) + 8)} ${String(x(to.lane))} ${String(y(from.row) + 16)} ${String(x(to.lane))} ${String(y(from.row) + ROW / 2)}V${String(y(to.row))}`
            }
          />
        ))}
        {rows.map((row, at) => (
          <circle
            key={row.key}
            cx={x(row.lane)}
            cy={y(at)}
            r="5"
            strokeWidth="2"
            className={
              row.heads.some(({ session_id }) => session_id === props.session)
                ? "fill-indigo stroke-indigo"
                : row.node
                  ? "fill-line-strong stroke-line-strong"
                  : "fill-paper stroke-line-strong"
            }
          />
        ))}
      </svg>
      <ol aria-label="Turns">
        {rows.map((row) => (
          <li
            key={row.key}
            data-node={row.node?.number ?? ""}
            style={{ paddingLeft: `${String(x(lanes - 1) + 18)}px`, height: `${String(ROW)}px` }}
            className="flex items-center gap-3 overflow-hidden max-sm:flex-col max-sm:items-stretch max-sm:justify-center max-sm:gap-0"
          >
            <Turn row={row} {...props} />
          </li>
        ))}
      </ol>
    </div>
  );
}

function Turn({ row: { node, heads }, ...props }: Props & { row: Row }) {
  return (
    <>
      <div className="min-w-0 flex-1 max-sm:flex-none">
        <p className="flex items-center gap-2 text-sm">
          {node ? <span className="shrink-0 font-medium">Turn {node.number}</span> : null}
          {heads.map((head) => (
            <HeadName key={head.session_id} head={head} {...props} />
          ))}
          {node ? <Ago time={node.create_time} className="shrink-0 text-xs text-faint" /> : null}
        </p>
        <p className="truncate text-xs text-muted" title={node?.objective ?? heads[0]?.objective}>
          {node ? "" : "nothing said yet · "}
          {facts(node ?? heads[0])}
        </p>
      </div>
      <div className="flex shrink-0 max-sm:-ml-2">
        {heads
          .filter(({ session_id, state }) => session_id !== props.session && state === "ready")
          .map(({ session_id }) => (
            <Button
              key={session_id}
              look="bare"
              className="!px-2"
              aria-label={`Compare with ${props.nameOf(session_id)}`}
              onClick={() => {
                props.onCompare(session_id);
              }}
            >
              Compare
            </Button>
          ))}
        {node?.restorable ? (
          <Button
            look="bare"
            className="!px-2"
            disabled={props.busy}
            aria-label={`Continue from turn ${String(node.number)}`}
            onClick={() => {
              props.onContinue(node);
            }}
          >
            Continue
          </Button>
        ) : null}
      </div>
    </>
  );
}

function HeadName({ head, session, nameOf, onOpened }: Props & { head: Head }) {
  const name = visible(nameOf(head.session_id));
  if (head.session_id === session)
    return (
      <span className="min-w-0 truncate rounded bg-indigo-wash px-2 text-xs leading-5 text-indigo">
        this session
      </span>
    );
  return (
    <span className="min-w-0 truncate text-xs" onClick={onOpened}>
      {head.state === "failed" ? (
        <span className="text-madder">{name}: not made</span>
      ) : (
        <>
          <SessionLink id={head.session_id} plain>
            {name}
          </SessionLink>
          {head.state === "forking" ? " being made" : ""}
        </>
      )}
    </span>
  );
}

function facts(at: Node | Head | undefined): string {
  if (!at) return "";
  const progress = at.leaves > 0 ? `${String(at.done_leaves)} of ${String(at.leaves)} done` : "no steps";
  return [progress, at.objective === "" ? "no objective" : visible(at.objective)].join(" · ");
}
