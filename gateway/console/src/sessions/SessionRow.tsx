// One session in the list.
import type { Session } from "../session/api";
import { STATES } from "../session/words";
import { SessionState } from "../session/SessionState";
import { titleOf } from "../session/title";
import { go } from "../shell/router";
import { visible } from "../text/visible";
import { Ago } from "../ui/Ago";
import { Dot } from "../ui/State";
import { sessionUrl } from "./path";

interface Props {
  session: Session;
  current: boolean;
  selecting: boolean;
  chosen: boolean;
  onToggle: () => void;
}

export function SessionRow({ session, current, selecting, chosen, onToggle }: Props) {
  const title = visible(titleOf(session));
  const url = sessionUrl(session.id);
  return (
    <li className={`group relative border-b border-line ${chosen ? "bg-indigo-wash" : ""}`}>
      <input
        type="checkbox"
        aria-label={`Select ${title}`}
        tabIndex={selecting ? 0 : -1}
        checked={chosen}
        onChange={onToggle}
        className={`absolute left-3 top-4 z-[1] size-4 cursor-pointer accent-indigo ${selecting ? "" : "[@media(hover:hover)]:opacity-0 focus-visible:opacity-100 [@media(hover:hover)]:group-hover:opacity-100"}`}
      />
      <a
        href={url}
        data-session-row={session.id}
        aria-current={current ? "true" : undefined}
        onClick={(event) => {
          if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
          event.preventDefault();
          go(url);
        }}
        className={`relative block py-3 pl-4 pr-4 -outline-offset-2 focus-visible:-outline-offset-2 ${chosen ? "" : "hover:bg-sunk aria-[current]:bg-sunk"}`}
      >
        {current ? <span aria-hidden className="absolute inset-y-0 left-0 w-0.5 bg-indigo" /> : null}
        <span className="flex items-start gap-2">
          <Dot
            tone={STATES[session.state].tone}
            className={`mx-1 mt-2 ${selecting ? "invisible" : "[@media(hover:hover)]:group-hover:invisible [@media(hover:none)]:invisible"}`}
          />
          <span className="own-way line-clamp-2 min-w-0 flex-1 font-medium [overflow-wrap:anywhere]">
            {title}
          </span>
          <Ago time={session.update_time} className="pt-0.5 text-xs text-faint" />
        </span>
        <span className="mt-1 flex items-center gap-2 pl-6">
          <span className="min-w-0 flex-1 truncate text-sm text-muted">
            {visible(
              [kindOf(session), session.adapter, session.model].filter((part) => part !== "").join(" · "),
            )}
          </span>
          <SessionState state={session.state} />
        </span>
      </a>
    </li>
  );
}

/** What it is, where it is no conversation of its own. */
function kindOf(session: Session): string {
  if (session.coordinator) return "worker";
  if (session.forked_from) return `branch after turn ${String(session.fork_turn ?? 0)}`;
  return "";
}
