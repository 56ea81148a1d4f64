// Keyboard layers: a mounted component binds keys, the newest layer wins, an open dialog or menu silences all of them.
import { useEffect, useRef } from "react";
import { meaning, resolve, type Bindings, type Focus } from "./keys";

const layers: { current: Bindings }[] = [];

function focusOf(target: EventTarget | null): Focus {
  if (!(target instanceof HTMLElement)) return { tag: "", editable: false, pressable: false };
  const tag = target.tagName;
  const typed = tag === "TEXTAREA" || (tag === "INPUT" && (target as HTMLInputElement).type !== "checkbox");
  return {
    tag,
    editable: typed || target.isContentEditable,
    pressable: ["BUTTON", "A", "SUMMARY", "SELECT"].includes(tag),
  };
}

function onKeyDown(event: KeyboardEvent): void {
  if (document.querySelector("dialog[open], :popover-open")) return;
  const { key, ctrlKey, metaKey, altKey, repeat, isComposing, defaultPrevented } = event;
  const target = focusOf(event.target);
  const stroke = { key, ctrlKey, metaKey, altKey, repeat, isComposing, defaultPrevented, target };
  if (key === "Escape" && target.editable && !defaultPrevented) {
    // Out of the field, back to the keys; a form that closes on Escape has done so by now.
    (event.target as HTMLElement).blur();
    return;
  }
  const meant = meaning(stroke);
  if (meant === undefined) return;
  const action = resolve(
    layers.map((layer) => layer.current),
    meant,
  );
  if (!action) return;
  event.preventDefault();
  action();
}

/** Binds keys while mounted. Bindings may change on every render. */
export function useKeys(bindings: Bindings): void {
  const layer = useRef(bindings);
  useEffect(() => {
    layer.current = bindings;
  });
  useEffect(() => {
    if (layers.length === 0) window.addEventListener("keydown", onKeyDown);
    layers.push(layer);
    return () => {
      layers.splice(layers.indexOf(layer), 1);
      if (layers.length === 0) window.removeEventListener("keydown", onKeyDown);
    };
  }, []);
}
