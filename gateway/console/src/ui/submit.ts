// Ctrl/Cmd + Enter in a form's text field sends the form.
import type { KeyboardEvent } from "react";

export function submitOnCtrlEnter(event: KeyboardEvent<HTMLElement>): void {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.nativeEvent.isComposing) return;
  event.preventDefault();
  if (event.target instanceof HTMLElement) event.target.closest("form")?.requestSubmit();
}
