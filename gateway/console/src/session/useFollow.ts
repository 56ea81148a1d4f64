// Keeps a scrolling box at its end while the reader is there; one who scrolled up to read is left alone.
import { useLayoutEffect, useRef } from "react";

const NEAR = 48;

export function useFollow(content: unknown) {
  const scroller = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  useLayoutEffect(() => {
    const box = scroller.current;
    if (box && atEnd.current) box.scrollTop = box.scrollHeight;
  }, [content]);
  const onScroll = (): void => {
    const box = scroller.current;
    if (box) atEnd.current = box.scrollHeight - box.scrollTop - box.clientHeight < NEAR;
  };
  return { scroller, onScroll };
}
