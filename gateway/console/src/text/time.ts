// Times for people: short and relative, with the absolute one beside. Pure; the ticking is in ui/Ago.tsx.

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** "now", "4 min", "3 h", "2 d", later the date. `now` and `then` in milliseconds since the epoch. */
export function ago(then: number, now: number): string {
  const seconds = Math.max(0, (now - then) / 1000);
  if (seconds < 45) return "now";
  if (seconds < 59.5 * MINUTE) return `${Math.max(1, Math.round(seconds / MINUTE))} min`;
  if (seconds < 23.5 * HOUR) return `${Math.round(seconds / HOUR)} h`;
  if (seconds < 13.5 * DAY) return `${Math.round(seconds / DAY)} d`;
  return day(then, now);
}

/** "in 6 h" for a time to come; "now" when it has passed. */
export function until(then: number, now: number): string {
  const text = ago(now, then);
  return text === "now" ? "now" : /^\d+ (min|h|d)$/.test(text) ? `in ${text}` : `on ${day(then, now)}`;
}

function day(then: number, now: number): string {
  const date = new Date(then);
  const sameYear = date.getFullYear() === new Date(now).getFullYear();
  return date.toLocaleDateString("en-GB", {
    day: "numeric",
    month: "short",
    ...(sameYear ? {} : { year: "numeric" }),
  });
}

/** The whole truth, for a title: local time with its zone. */
export function absolute(then: number): string {
  return new Date(then).toLocaleString("en-GB", {
    weekday: "short",
    day: "numeric",
    month: "short",
    year: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    timeZoneName: "short",
  });
}

/** Milliseconds since the epoch of an RFC 3339 time, or undefined. */
export function instant(text: string | undefined): number | undefined {
  const value = text === undefined || text === "" ? NaN : Date.parse(text);
  return Number.isNaN(value) ? undefined : value;
}

/** How long until `ago` may say something else, in milliseconds. */
export function tick(then: number, now: number): number {
  const seconds = Math.abs(now - then) / 1000;
  return seconds < HOUR ? 15_000 : 5 * 60_000;
}
