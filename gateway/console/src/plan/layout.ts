// Where turns and branches stand in the drawing: a row each, a lane for every session. Pure.
import type { Graph, Head, Node } from "./types";

export interface Row {
  key: string;
  lane: number;
  /** Undefined: a branch in which nothing was said yet. */
  node: Node | undefined;
  /** Sessions whose newest turn this is. */
  heads: readonly Head[];
}

export interface Edge {
  from: { lane: number; row: number };
  to: { lane: number; row: number };
}

export interface Layout {
  rows: readonly Row[];
  edges: readonly Edge[];
  lanes: number;
}

export function layout({ nodes, heads }: Graph): Layout {
  const byId = new Map(nodes.map((node) => [node.turn_id, node]));
  const laneOf = new Map<string, number>();
  const ownsNone: { head: Head; lane: number }[] = [];
  heads.forEach((head, lane) => {
    let own = false;
    for (let at = head.turn_id; at !== "" && !laneOf.has(at); at = byId.get(at)?.parent_turn_id ?? "") {
      laneOf.set(at, lane);
      own = true;
    }
    if (!own) ownsNone.push({ head, lane });
  });
  // Turns of sessions that are gone, but that others still stand on, have been reached through those.
  const rows: Row[] = nodes.map((node) => ({
    key: node.turn_id,
    lane: laneOf.get(node.turn_id) ?? 0,
    node,
    heads: heads.filter(
      (head) => head.turn_id === node.turn_id && !ownsNone.some((none) => none.head === head),
    ),
  }));
  for (const { head, lane } of ownsNone)
    rows.push({ key: head.session_id, lane, node: undefined, heads: [head] });
  const place = new Map(rows.map(({ key, lane }, row) => [key, { lane, row }]));
  const edges = rows.flatMap(({ key, node, heads: [head] }): Edge[] => {
    const from = place.get(node ? node.parent_turn_id : (head?.fork_turn_id ?? ""));
    const to = place.get(key);
    return from && to ? [{ from, to }] : [];
  });
  return { rows, edges, lanes: Math.max(1, ...rows.map(({ lane }) => lane + 1)) };
}
