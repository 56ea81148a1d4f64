// The actions of a singular umbrella's family on the umbrella's own card, in the service's order: what waits first, what
// is settled last and grey. Each card is a button that opens its host thread (design/threads.md §4.10).
import { useRef } from "react";
import type { Action, Thread } from "../api/types";
import { useKeys } from "../keys/useKeys";
import { HoistedCard } from "./HoistedCard";

export function Hoisted({ umbrella, actions }: { umbrella: Thread; actions: readonly Action[] }) {
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
        {actions.map((action) => (
          <li key={action.host_thread_id}>
            <HoistedCard umbrella={umbrella.id} action={action} />
          </li>
        ))}
      </ul>
    </section>
  );
}
