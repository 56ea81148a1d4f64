// A relative time that keeps itself true, with the absolute one as its title.
import { useEffect, useState } from "react";
import { absolute, ago, instant, tick, until } from "../text/time";

export function useNow(then: number | undefined): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (then === undefined) return undefined;
    const timer = setTimeout(
      () => {
        setNow(Date.now());
      },
      tick(then, now),
    );
    return () => {
      clearTimeout(timer);
    };
  }, [then, now]);
  return now;
}

interface Props {
  time: string | undefined;
  className?: string;
  ahead?: boolean;
  /** Says "4 min ago" instead of "4 min". */
  long?: boolean;
}

export function Ago({ time, className = "", ahead = false, long = false }: Props) {
  const then = instant(time);
  const now = useNow(then);
  if (then === undefined) return null;
  const short = ahead ? until(then, now) : ago(then, now);
  const text =
    long && /^\d+ (min|h|d)$/.test(short) ? `${short} ago` : short === "now" && long ? "just now" : short;
  return (
    <time dateTime={time} title={absolute(then)} className={`whitespace-nowrap tabular-nums ${className}`}>
      {text}
    </time>
  );
}
