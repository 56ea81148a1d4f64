// Names that tell branches apart. Pure.

const MOST = 200;
const SUFFIX = /, from turn \d+(?: \(\d+\))?$/;

/** What a branch is called that nobody named: after its origin and its turn, and unlike the others. */
export function branchTitle(origin: string, turn: number, taken: ReadonlySet<string>): string {
  const base = origin.trim().replace(SUFFIX, "");
  if (base === "") return "";
  for (let count = 1; ; count += 1) {
    const suffix = `, from turn ${String(turn)}${count === 1 ? "" : ` (${String(count)})`}`;
    const title = Array.from(base)
      .slice(0, MOST - suffix.length)
      .join("")
      .concat(suffix);
    if (!taken.has(title)) return title;
  }
}

/** Each with a name of its own: of those that have the same one, the second is "… (2)". */
export function distinct(names: readonly (readonly [id: string, name: string])[]): Map<string, string> {
  const count = new Map<string, number>();
  return new Map(
    names.map(([id, name]) => {
      const known = (count.get(name) ?? 0) + 1;
      count.set(name, known);
      return [id, known === 1 ? name : `${name} (${String(known)})`];
    }),
  );
}
