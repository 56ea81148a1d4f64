// Keeps a scrolling box at its end, on every drawing of its owner, while the reader is there; one who scrolled up to
// read is left alone.
import { useLayoutEffect, useRef } from "react";

const NEAR = 48;

export function useFollow<T extends HTMLElement = HTMLDivElement>() {
  const scroller = useRef<T>(null);
  const atEnd = useRef(true);
  useLayoutEffect(() => {
    const box = scroller.current;
    if (box && atEnd.current) box.scrollTop = box.scrollHeight;
  });
  const onScroll = (): void => {
    const box = scroller.current;
    if (box) atEnd.current = box.scrollHeight - box.scrollTop - box.clientHeight < NEAR;
  };
  return { scroller, onScroll };
}
