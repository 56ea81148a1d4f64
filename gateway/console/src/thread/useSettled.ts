// Guards against approving what changed under one's finger: false for a moment after the value changes, live, on screen.
import { useEffect, useState } from "react";

const MOMENT_MS = 700;

export function useSettled(value: string): boolean {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    if (settled === value) return undefined;
    const timer = setTimeout(
      () => {
        setSettled(value);
      },
      // The first proposal of a card appears where nothing was to be pressed; a replaced one does not.
      settled === "" ? 0 : MOMENT_MS,
    );
    return () => {
      clearTimeout(timer);
    };
  }, [value, settled]);
  return settled === value;
}
