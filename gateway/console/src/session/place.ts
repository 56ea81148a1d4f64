// Where an event stands in a session's stream: `{generation}-{n}` (design/streaming.md D1.3). Pure.

export interface Place {
  generation: number;
  n: number;
}

export function placeOf(id: string): Place | undefined {
  const match = /^(\d{1,15})-(\d{1,15})$/.exec(id);
  return match ? { generation: Number(match[1]), n: Number(match[2]) } : undefined;
}

/** `old`: was seen, or is of a generation that has passed. `fresh`: the first that is seen of a new generation. */
export function compare(seen: Place | undefined, place: Place): "old" | "next" | "fresh" {
  if (!seen || place.generation > seen.generation) return "fresh";
  if (place.generation < seen.generation || place.n <= seen.n) return "old";
  return "next";
}
