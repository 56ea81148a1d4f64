// The actions of a singular umbrella's family on the umbrella's own card, in the service's order: what waits first, what
// is settled last and grey. Each card is a button that opens its host thread (design/threads.md §4.10).
import { useRef, useState } from "react";
import type { Action, Thread } from "../api/types";
import { useKeys } from "../keys/useKeys";
import { Button } from "../ui/Button";
import { HoistedCard } from "./HoistedCard";

/** Cards at once: a family may have thousands, and what waits comes first. */
const PORTION = 50;

export function Hoisted({ umbrella, actions }: { umbrella: Thread; actions: readonly Action[] }) {
  const [shown, setShown] = useState(PORTION);
  const list = useRef<HTMLUListElement>(null);
  const step = (by: 1 | -1): void => {
    const cards = [...(list.current?.querySelectorAll<HTMLElement>("[data-action-card]") ?? [])];
    const here = cards.findIndex((card) => card.contains(document.activeElement));
    cards[here === -1 ? (by === 1 ? 0 : cards.length - 1) : here + by]?.focus();
  };
  useKeys({
    J: () => {
      step(1);
    },
    K: () => {
      step(-1);
    },
  });
  const missing = (umbrella.hoisted_count ?? 0) - actions.length;
  const open = actions.filter((action) => !action.settled).length;
  return (
    <section aria-label="Actions">
      <h2 className="eyebrow mb-3">
        Actions{" "}
        <span className="normal-case tracking-normal">
          · {open === 0 ? "all settled" : `${open} of ${actions.length} open`}
        </span>
      </h2>
      <ul ref={list} className="flex flex-col gap-3">
        {actions.slice(0, shown).map((action) => (
          <li key={action.host_thread_id}>
            <HoistedCard umbrella={umbrella.id} action={action} />
          </li>
        ))}
      </ul>
      {actions.length > shown ? (
        <Button
          className="mt-3"
          onClick={() => {
            setShown(shown + PORTION);
          }}
        >
          Show more ({actions.length - shown})
        </Button>
      ) : missing > 0 ? (
        <p className="mt-3 text-sm text-muted">
          {missing} more {missing === 1 ? "action is" : "actions are"} too many for one card.
        </p>
      ) : null}
    </section>
  );
}
