// One thread in a list: what it is, what it asks, how old it is.
import { proposalOf } from "../api/decisions";
import type { Thread } from "../api/types";
import { wordsOf } from "../text/states";
import { visible } from "../text/visible";
import { Ago } from "../ui/Ago";
import { Dot, StateChip } from "../ui/State";

interface Props {
  thread: Thread;
  href: string;
  current: boolean;
  onOpen: () => void;
  onFocus: () => void;
}

export function Row({ thread, href, current, onOpen, onFocus }: Props) {
  const { tone } = wordsOf(thread.state);
  return (
    <li className="border-b border-line">
      <a
        href={href}
        data-row={thread.id}
        aria-current={current ? "true" : undefined}
        onFocus={onFocus}
        onClick={(event) => {
          if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
          event.preventDefault();
          onOpen();
        }}
        className="relative block px-4 py-3 -outline-offset-2 hover:bg-sunk aria-[current]:bg-sunk focus-visible:-outline-offset-2"
      >
        {current ? <span aria-hidden className="absolute inset-y-0 left-0 w-0.5 bg-indigo" /> : null}
        <span className="flex items-start gap-2">
          <Dot tone={tone} className="mt-2" />
          <span className="line-clamp-2 min-w-0 flex-1 font-medium [overflow-wrap:anywhere]">
            {visible(thread.title)}
          </span>
          <Ago
            time={thread.latest_activity ?? thread.update_time ?? thread.create_time}
            className="pt-0.5 text-xs text-faint"
          />
        </span>
        <span className="mt-1 flex items-center gap-2 pl-4">
          <span className="min-w-0 flex-1 truncate text-sm text-muted">{askOf(thread)}</span>
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
  return wordsOf(thread.state).ask;
}
