// A form that opens below the fold is brought into view, whole where it fits.
import { useEffect, useRef, type RefObject } from "react";

export function useInView<T extends HTMLElement>(wanted: boolean): RefObject<T | null> {
  const ref = useRef<T>(null);
  useEffect(() => {
    if (wanted) ref.current?.scrollIntoView({ block: "nearest" });
  }, [wanted]);
  return ref;
}
