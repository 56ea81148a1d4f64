// Whether the agent of this session may start workers.
import { Notice } from "../ui/Notice";
import { refused } from "./refused";
import type { ThreadMode } from "./useThreadMode";

export function ModeSwitch({ mode }: { mode: ThreadMode }) {
  return (
    <div className="flex flex-col gap-2 border-b border-line px-4 py-3">
      <button
        type="button"
        role="switch"
        aria-checked={mode.on}
        aria-busy={mode.busy}
        onClick={() => void mode.set(!mode.on)}
        className="group flex items-center gap-3 rounded text-left max-lg:min-h-10"
      >
        <span
          aria-hidden
          className="flex h-5 w-9 shrink-0 items-center rounded-full border border-line-strong bg-sunk px-0.5 transition-colors group-aria-checked:border-indigo group-aria-checked:bg-indigo"
        >
          <span className="size-3.5 rounded-full bg-line-strong transition-transform group-aria-checked:translate-x-4 group-aria-checked:bg-indigo-ink" />
        </span>
        <span className="text-sm font-medium">Thread mode</span>
        <span className="ml-auto text-xs text-faint">{mode.on ? "on" : "off"}</span>
      </button>
      {mode.error ? (
        <Notice tone="warn" title="Thread mode was not changed">
          {refused(mode.error)}
        </Notice>
      ) : null}
    </div>
  );
}
