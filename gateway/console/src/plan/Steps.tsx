// The dotted tree. A step is moved with all under it: by its handle, by Alt and an arrow, or from its menu.
import { Fragment, useState } from "react";
import { useDrag } from "../group/useDrag";
import { AddSteps } from "./AddSteps";
import { StepRow } from "./StepRow";
import { dropped, endOf, moved, type Way, type Zone } from "./tree";
import type { Plan } from "./types";
import type { Commands } from "./useCommand";

const WAYS: Partial<Record<string, Way>> = {
  ArrowUp: "up",
  ArrowDown: "down",
  ArrowRight: "in",
  ArrowLeft: "out",
};

export function Steps({ plan: { steps }, commands }: { plan: Plan; commands: Commands }) {
  const [form, setForm] = useState<{ id: string; what: "edit" | "add" }>();
  const { drag, ghost, board, begin } = useDrag({
    onDrop: ([id], target) => {
      const [on = "", zone] = target.split(":");
      const at = steps.findIndex((step) => step.id === id);
      const onto = steps.findIndex((step) => step.id === on);
      if (at !== -1 && onto !== -1) void commands.run(dropped(steps, at, onto, zone as Zone));
    },
  });
  const held = steps.findIndex((step) => step.id === drag?.keys[0]);
  const focus = (id: string): void => {
    requestAnimationFrame(() => {
      document.querySelector<HTMLElement>(`[data-step="${CSS.escape(id)}"]`)?.focus();
    });
  };
  const go = async (at: number, way: Way): Promise<void> => {
    const id = steps[at]?.id ?? "";
    if (await commands.run(moved(steps, at, way))) focus(id);
  };
  return (
    <div ref={board}>
      <ol aria-label="Plan" className="flex flex-col">
        {steps.map((step, at) => (
          <Fragment key={step.id}>
            <StepRow
              steps={steps}
              at={at}
              busy={commands.busy}
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
                  void go(at, way);
                } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
                  event.preventDefault();
                  focus(steps[at + (event.key === "ArrowDown" ? 1 : -1)]?.id ?? "");
                } else if (event.key === " " && step.leaf) {
                  event.preventDefault();
                  void commands.run({ verb: "toggle", body: { indices: [at + 1], done: !step.done } });
                } else if (event.key === "Enter" || event.key === "F2") {
                  event.preventDefault();
                  setForm({ id: step.id, what: "edit" });
                } else if (event.key === "Delete") {
                  event.preventDefault();
                  void commands.run({ verb: "remove", body: { indices: [at + 1] } });
                }
              }}
              onMove={(way) => void go(at, way)}
              canMove={(way) => moved(steps, at, way) !== undefined}
              onToggle={(done) => void commands.run({ verb: "toggle", body: { indices: [at + 1], done } })}
              onEdit={() => {
                setForm({ id: step.id, what: "edit" });
              }}
              onEdited={async (text) => {
                const edits = [{ index: at + 1, text }];
                if (text === step.text || (await commands.run({ verb: "edit", body: { edits } }))) {
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
              onRemove={() => void commands.run({ verb: "remove", body: { indices: [at + 1] } })}
            />
            {form?.id === step.id && form.what === "add" ? (
              <li className="py-1 pl-8">
                <AddSteps
                  label={`Add steps under ${step.number}`}
                  under={at + 1}
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

function zoneOf(over: string | undefined, id: string): Zone | undefined {
  if (!over?.startsWith(`${id}:`)) return undefined;
  return over.slice(id.length + 1) as Zone;
}
