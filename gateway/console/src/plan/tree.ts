// A plan as a tree: levels, subtrees, and what a drag or a key means as a command of the service. Pure.
import type { PlanCommand } from "./api";
import type { Step } from "./types";

/** 0 at the top; from the number, which shows the level that a step really has. */
export function levelOf({ number }: Pick<Step, "number">): number {
  return number.split(".").length - 1;
}

/** Positions from `at` up to, without, the answer are the step and all under it. */
export function endOf(steps: readonly Step[], at: number): number {
  const own = steps[at];
  if (!own) return at;
  const next = steps.findIndex((step, index) => index > at && levelOf(step) <= levelOf(own));
  return next === -1 ? steps.length : next;
}

export function parentOf(steps: readonly Step[], at: number): number | undefined {
  const own = steps[at];
  if (!own) return undefined;
  const found = steps.findLastIndex((step, index) => index < at && levelOf(step) < levelOf(own));
  return found === -1 ? undefined : found;
}

function siblingBefore(steps: readonly Step[], at: number): number | undefined {
  const own = steps[at];
  if (!own) return undefined;
  const bound = parentOf(steps, at) ?? -1;
  const found = steps.findLastIndex(
    (step, index) => index < at && index > bound && levelOf(step) === levelOf(own),
  );
  return found === -1 ? undefined : found;
}

function siblingAfter(steps: readonly Step[], at: number): number | undefined {
  const own = steps[at];
  const next = endOf(steps, at);
  const step = steps[next];
  return own && step && levelOf(step) === levelOf(own) ? next : undefined;
}

export type Way = "up" | "down" | "in" | "out";

/** What a key means for the step at that position; undefined: nothing. */
export function moved(steps: readonly Step[], at: number, way: Way): PlanCommand | undefined {
  const before = siblingBefore(steps, at);
  const parent = parentOf(steps, at);
  const index = at + 1;
  switch (way) {
    case "up":
      return before === undefined ? undefined : swapped(steps, before, at);
    case "down": {
      const after = siblingAfter(steps, at);
      return after === undefined ? undefined : swapped(steps, at, after);
    }
    case "in":
      return before === undefined ? undefined : { verb: "move", body: { index, parent_index: before + 1 } };
    case "out":
      return parent === undefined ? undefined : { verb: "move", body: { index, after_index: parent + 1 } };
  }
}

/** Two siblings with all under them change places: `first` stands right before `second`. */
function swapped(steps: readonly Step[], first: number, second: number): PlanCommand {
  const end = endOf(steps, second);
  const order = [
    ...steps.slice(0, first),
    ...steps.slice(second, end),
    ...steps.slice(first, second),
    ...steps.slice(end),
  ];
  return { verb: "order", body: { step_ids: order.map(({ id }) => id) } };
}

export type Zone = "before" | "after" | "under";

/** What a drop means: the step at `at`, dropped on the one at `on`; undefined: nothing, or nonsense. */
export function dropped(steps: readonly Step[], at: number, on: number, zone: Zone): PlanCommand | undefined {
  if (on >= at && on < endOf(steps, at)) return undefined;
  const index = at + 1;
  if (zone === "under")
    return parentOf(steps, at) === on && endOf(steps, at) === endOf(steps, on)
      ? undefined
      : { verb: "move", body: { index, parent_index: on + 1 } };
  if (zone === "after")
    return siblingBefore(steps, at) === on
      ? undefined
      : { verb: "move", body: { index, after_index: on + 1 } };
  const before = siblingBefore(steps, on);
  if (before === at) return undefined;
  if (before !== undefined) return { verb: "move", body: { index, after_index: before + 1 } };
  const parent = parentOf(steps, on);
  if (parent === undefined) return { verb: "move", body: { index, after_index: 0 } };
  // Before the first step under another: only its own siblings can be put there in one step.
  return parentOf(steps, at) === parent ? firstAmong(steps, at, on) : undefined;
}

function firstAmong(steps: readonly Step[], at: number, on: number): PlanCommand {
  const end = endOf(steps, at);
  const order = [...steps.slice(0, on), ...steps.slice(at, end), ...steps.slice(on, at), ...steps.slice(end)];
  return { verb: "order", body: { step_ids: order.map(({ id }) => id) } };
}

/** Leaves under a step, and how many of them are done. */
export function leavesUnder(steps: readonly Step[], at: number): { done: number; all: number } {
  const leaves = steps.slice(at + 1, endOf(steps, at)).filter(({ leaf }) => leaf);
  return { done: leaves.filter(({ done }) => done).length, all: leaves.length };
}
