// The dotted tree. A step is moved with all under it: by its handle, by Alt and an arrow, or from its menu.
import { Fragment, useState } from "react";
import { useDrag } from "../group/useDrag";
import { AddSteps } from "./AddSteps";
import { RemoveSteps } from "./RemoveSteps";
import { StepRow } from "./StepRow";
import { dropped, endOf, moved, type Way, type Zone } from "./tree";
import type { PlanCommand } from "./api";
import type { Plan, Step } from "./types";
import type { Commands } from "./useCommand";

const WAYS: Partial<Record<string, Way>> = {
  ArrowUp: "up",
  ArrowDown: "down",
  ArrowRight: "in",
  ArrowLeft: "out",
};

export function Steps({ plan: { steps }, commands }: { plan: Plan; commands: Commands }) {
  const [form, setForm] = useState<{ id: string; what: "edit" | "add" }>();
  const [removing, setRemoving] = useState<string>();
  const { drag, ghost, board, begin } = useDrag({
    onDrop: ([id], target) => {
      const [on = "", zone] = target.split(":");
      void commands.run((now) => {
        const at = now.findIndex((step) => step.id === id);
        const onto = now.findIndex((step) => step.id === on);
        return at === -1 || onto === -1 ? undefined : dropped(now, at, onto, zone as Zone);
      });
    },
  });
  const held = steps.findIndex((step) => step.id === drag?.keys[0]);
  /** Back to a step whose place, or whose form, took the focus away; not from where one has gone meanwhile. */
  const focus = (id: string): void => {
    requestAnimationFrame(() => {
      if (document.activeElement === document.body) rowOf(id)?.focus();
    });
  };
  /** A command on one step, wherever it stands by then. */
  const on = (id: string, make: (at: number, now: readonly Step[]) => PlanCommand | undefined) =>
    commands.run((now) => {
      const at = now.findIndex((step) => step.id === id);
      return at === -1 ? undefined : make(at, now);
    });
  const go = async (id: string, way: Way): Promise<void> => {
    if (await on(id, (at, now) => moved(now, at, way))) focus(id);
  };
  const tick = (id: string, done: boolean): void => {
    void on(id, (at) => ({ verb: "toggle", body: { indices: [at + 1], done } }));
  };
  const remove = (id: string): void => {
    void on(id, (at) => ({ verb: "remove", body: { indices: [at + 1] } }));
  };
  const leave = (step: Step): void => {
    if (step.leaf) remove(step.id);
    else setRemoving(step.id);
  };
  const goes = steps.findIndex((step) => step.id === removing);
  return (
    <div ref={board}>
      <ol aria-label="Plan" className="flex flex-col">
        {steps.map((step, at) => (
          <Fragment key={step.id}>
            <StepRow
              steps={steps}
              at={at}
              editing={form?.id === step.id && form.what === "edit"}
              held={drag !== undefined && at >= held && at < endOf(steps, held)}
              zone={drag === undefined ? undefined : zoneOf(drag.over, step.id)}
              dragging={drag !== undefined}
              onGrab={(event) => {
                begin(event, () => [step.id]);
              }}
              onKey={(event) => {
                const way = event.altKey ? WAYS[event.key] : undefined;
                if (way) {
                  event.preventDefault();
                  void go(step.id, way);
                } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
                  event.preventDefault();
                  rowOf(steps[at + (event.key === "ArrowDown" ? 1 : -1)]?.id ?? "")?.focus();
                } else if (event.key === " " && step.leaf) {
                  event.preventDefault();
                  tick(step.id, !step.done);
                } else if (event.key === "Enter" || event.key === "F2") {
                  event.preventDefault();
                  setForm({ id: step.id, what: "edit" });
                } else if (event.key === "Delete") {
                  event.preventDefault();
                  leave(step);
                }
              }}
              onMove={(way) => void go(step.id, way)}
              canMove={(way) => moved(steps, at, way) !== undefined}
              onToggle={(done) => {
                tick(step.id, done);
              }}
              onEdit={() => {
                setForm({ id: step.id, what: "edit" });
              }}
              onEdited={async (text) => {
                const edit = (at: number): PlanCommand => ({
                  verb: "edit",
                  body: { edits: [{ index: at + 1, text }] },
                });
                if (text === step.text || (await on(step.id, edit))) {
                  setForm(undefined);
                  focus(step.id);
                }
              }}
              onLeave={() => {
                setForm(undefined);
                focus(step.id);
              }}
              onAdd={() => {
                setForm({ id: step.id, what: "add" });
              }}
              onRemove={() => {
                leave(step);
              }}
            />
            {form?.id === step.id && form.what === "add" ? (
              <li className="py-1 pl-8">
                <AddSteps
                  label={`Add steps under ${step.number}`}
                  under={step.id}
                  commands={commands}
                  onDone={() => {
                    setForm(undefined);
                    focus(step.id);
                  }}
                />
              </li>
            ) : null}
          </Fragment>
        ))}
      </ol>
      {steps[goes] ? (
        <RemoveSteps
          number={steps[goes].number}
          text={steps[goes].text}
          under={endOf(steps, goes) - goes - 1}
          onRemove={() => {
            remove(steps[goes]?.id ?? "");
          }}
          onClose={() => {
            setRemoving(undefined);
          }}
        />
      ) : null}
      {drag && held !== -1 ? (
        <div
          ref={ghost}
          aria-hidden
          className="pointer-events-none fixed left-0 top-0 z-20 max-w-64 truncate rounded-md border border-line-strong bg-raised px-3 py-1 text-sm shadow-lg"
        >
          {steps[held]?.number} {steps[held]?.text}
        </div>
      ) : null}
    </div>
  );
}

function rowOf(id: string): HTMLElement | null {
  return document.querySelector<HTMLElement>(`[data-step="${CSS.escape(id)}"]`);
}

function zoneOf(over: string | undefined, id: string): Zone | undefined {
  if (!over?.startsWith(`${id}:`)) return undefined;
  return over.slice(id.length + 1) as Zone;
}
