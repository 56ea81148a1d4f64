// One column: a group's name, its action, the cross to be rid of it, and its items as a list box.
import type { ReactNode } from "react";
import { proposalOf } from "../api/decisions";
import { ThreadLink } from "../family/ThreadLink";
import { visible } from "../text/visible";
import { StateChip } from "../ui/State";
import { movable, type Column } from "./placing";

interface Props {
  column: Column;
  over: boolean;
  busy: boolean;
  chip: ReactNode;
  onDelete: () => void;
  children: ReactNode;
}

export function GroupColumn({ column: { thread, items }, over, busy, chip, onDelete, children }: Props) {
  const title = visible(thread.title);
  const action = proposalOf(thread);
  const fixed = !movable(thread);
  return (
    <section
      aria-label={title}
      aria-busy={busy}
      data-column={thread.id}
      {...(fixed ? {} : { "data-drop": thread.id })}
      className={`flex w-72 shrink-0 flex-col rounded-xl border max-sm:w-full ${over ? "border-indigo bg-indigo-wash" : "border-line bg-sunk"} ${busy ? "opacity-60" : ""}`}
    >
      <header className="flex flex-col gap-2 p-3 pb-2">
        <div className="flex items-start gap-2">
          <h3 className="min-w-0 flex-1 font-medium [overflow-wrap:anywhere]">
            <ThreadLink id={thread.id} quiet>
              {title}
            </ThreadLink>{" "}
            <span className="text-sm font-normal tabular-nums text-faint">{items.length}</span>
          </h3>
          <button
            type="button"
            aria-label={`Delete group ${title}`}
            title="Delete this group"
            disabled={busy || fixed}
            onClick={onDelete}
            className="-m-1 flex size-8 shrink-0 items-center justify-center rounded-md text-lg leading-none text-muted hover:bg-madder-wash hover:text-madder disabled:opacity-40 max-lg:size-10"
          >
            ×
          </button>
        </div>
        <div className="flex items-center gap-2">
          <div className="min-w-0 flex-1">{chip}</div>
          <StateChip state={thread.state} />
        </div>
        {action?.plan_summary ? (
          <p className="line-clamp-2 text-sm text-muted [overflow-wrap:anywhere]">
            {visible(action.plan_summary)}
          </p>
        ) : null}
      </header>
      <ul
        role="listbox"
        aria-multiselectable
        aria-label={`Items of ${title}`}
        className="flex min-h-16 flex-1 flex-col gap-2 p-3 pt-1"
      >
        {children}
        {items.length === 0 ? (
          <li role="none" className="py-4 text-center text-sm text-faint">
            No items
          </li>
        ) : null}
      </ul>
    </section>
  );
}
