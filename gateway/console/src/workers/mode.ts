// Which sessions this browser keeps in thread mode: remembered over reloads, forgotten with the oldest. Pure over a Storage.

const PLACE = "treadle.threadMode";
const MOST = 200;

type Kept = Pick<Storage, "getItem" | "setItem">;

export function remembered(session: string, storage: Kept): boolean {
  return read(storage).includes(session);
}

export function remember(session: string, on: boolean, storage: Kept): void {
  const known = read(storage);
  if (known.includes(session) === on) return;
  const others = known.filter((id) => id !== session);
  const kept = on ? [...others, session].slice(-MOST) : others;
  try {
    storage.setItem(PLACE, JSON.stringify(kept));
  } catch {
    // A full or forbidden storage forgets; the service still knows.
  }
}

function read(storage: Kept): string[] {
  try {
    const value: unknown = JSON.parse(storage.getItem(PLACE) ?? "[]");
    return Array.isArray(value) ? value.filter((id): id is string => typeof id === "string") : [];
  } catch {
    return [];
  }
}
