// One thread in a list: what it is, what it asks, how old it is.
import { proposalOf } from "../api/decisions";
import type { Thread } from "../api/types";
import { wordsOf } from "../text/states";
import { visible } from "../text/visible";
import { waitsOf } from "../text/waits";
import { Ago } from "../ui/Ago";
import { Dot, StateChip } from "../ui/State";

interface Props {
  thread: Thread;
  href: string;
  current: boolean;
  /** Rows are being chosen: a press chooses instead of opening. */
  selecting?: boolean;
  chosen?: boolean;
  onToggle?: () => void;
  onOpen: () => void;
  onFocus: () => void;
}

export function Row({
  thread,
  href,
  current,
  selecting = false,
  chosen = false,
  onToggle,
  onOpen,
  onFocus,
}: Props) {
  const { tone } = wordsOf(thread.state);
  return (
    <li className={`group relative border-b border-line ${chosen ? "bg-indigo-wash" : ""}`}>
      {onToggle ? (
        <input
          type="checkbox"
          aria-label={`Select ${thread.title}`}
          tabIndex={selecting ? 0 : -1}
          checked={chosen}
          onChange={onToggle}
          className={`absolute left-3 top-4 z-[1] size-4 cursor-pointer accent-indigo ${selecting ? "" : "opacity-0 focus-visible:opacity-100 [@media(hover:hover)]:group-hover:opacity-100"}`}
        />
      ) : null}
      <a
        href={href}
        data-row={thread.id}
        aria-current={current ? "true" : undefined}
        onFocus={onFocus}
        onClick={(event) => {
          if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
          event.preventDefault();
          if (selecting && onToggle) onToggle();
          else onOpen();
        }}
        className={`relative block px-4 py-3 -outline-offset-2 focus-visible:-outline-offset-2 ${chosen ? "" : "hover:bg-sunk aria-[current]:bg-sunk"}`}
      >
        {current ? <span aria-hidden className="absolute inset-y-0 left-0 w-0.5 bg-indigo" /> : null}
        <span className="flex items-start gap-2">
          <Dot
            tone={tone}
            className={`mt-2 ${selecting ? "invisible" : onToggle ? "[@media(hover:hover)]:group-hover:invisible" : ""}`}
          />
          <span className="line-clamp-2 min-w-0 flex-1 font-medium [overflow-wrap:anywhere]">
            {visible(thread.title)}
          </span>
          <Ago
            time={thread.latest_activity ?? thread.update_time ?? thread.create_time}
            className="pt-0.5 text-xs text-faint"
          />
        </span>
        <span className="mt-1 flex items-center gap-2 pl-4">
          <span className="min-w-0 flex-1 truncate text-sm text-muted">
            {thread.parent_id ? (
              <span title="Part of another thread">
                <span aria-hidden>↳ </span>
                <span className="sr-only">Part of another thread: </span>
              </span>
            ) : null}
            {askOf(thread)}
          </span>
          {(thread.waiting_behind ?? 0) > 1 ? (
            <span
              className="whitespace-nowrap text-xs text-faint"
              title="Threads that cannot end before this one"
            >
              holds up {thread.waiting_behind}
            </span>
          ) : null}
          {thread.risk_highlight === "high" && (tone === "wait" || tone === "warn") ? (
            <span className="text-xs font-semibold text-madder">High risk</span>
          ) : null}
          <StateChip state={thread.state} />
        </span>
      </a>
    </li>
  );
}

function askOf(thread: Thread): string {
  const action = proposalOf(thread);
  if (thread.state === "awaiting_confirmation" && action) return visible(action.plan_summary || action.name);
  if (thread.state === "done" && action) return visible(action.plan_summary || action.name);
  if (thread.question) return visible(thread.question);
  if (thread.state === "awaiting_redirect" && thread.failure_context?.code) {
    return `Failed: ${thread.failure_context.code.replaceAll("_", " ")}`;
  }
  return waitsOf(thread);
}
