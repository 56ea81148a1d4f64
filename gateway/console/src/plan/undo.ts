// How a command on a plan is taken back: commands of the service again, made of the steps as they are by then. Pure.
import type { PlanCommand } from "./api";
import { endOf, parentOf } from "./tree";
import type { Step } from "./types";
import type { Meant } from "./useCommand";

export interface Undo {
  /** What is taken back, in a few words. */
  label: string;
  steps: readonly Meant[];
  /** It makes a step anew, under another id: what was before it cannot be found any more. */
  anew?: boolean;
}

/** Undefined: there is no way back (a step that goes with others under it: that was asked before). */
export function undoing(
  command: PlanCommand,
  before: readonly Step[],
  after: readonly Step[],
): Undo | undefined {
  switch (command.verb) {
    case "toggle": {
      const changed = command.body.indices.map((index) => before[index - 1]);
      const ids = changed.flatMap((step) => (step && step.done !== command.body.done ? [step.id] : []));
      if (ids.length === 0) return undefined;
      const done = !command.body.done;
      return {
        label: done ? "Not done" : "Done",
        steps: [(now) => at(now, ids, (indices) => ({ verb: "toggle", body: { indices, done } }))],
      };
    }
    case "edit": {
      const edits = command.body.edits.flatMap(({ index }) => {
        const step = before[index - 1];
        return step ? [{ id: step.id, text: step.text }] : [];
      });
      return {
        label: "Edit",
        steps: edits.map(
          ({ id, text }): Meant =>
            (now) =>
              at(now, [id], ([index]) => ({ verb: "edit", body: { edits: [{ index: index ?? 0, text }] } })),
        ),
      };
    }
    case "add": {
      const known = new Set(before.map(({ id }) => id));
      const ids = after.flatMap(({ id }) => (known.has(id) ? [] : [id]));
      return {
        label: ids.length === 1 ? "Added step" : "Added steps",
        steps: [(now) => at(now, ids, (indices) => ({ verb: "remove", body: { indices } }))],
      };
    }
    case "order":
      return { label: "Move", steps: [ordered(before)] };
    case "move": {
      const moved = before[command.body.index - 1];
      return moved && { label: "Move", steps: [homeward(before, moved), ordered(before)] };
    }
    case "remove":
      return removed(command.body.indices, before);
  }
}

function at(
  now: readonly Step[],
  ids: readonly string[],
  make: (indices: number[]) => PlanCommand,
): PlanCommand | undefined {
  const indices = now.flatMap(({ id }, index) => (ids.includes(id) ? [index + 1] : []));
  return indices.length === ids.length ? make(indices) : undefined;
}

/** Every step in the order of then; nothing where others have come or gone, or where it is so already. */
function ordered(then: readonly Step[], replaced?: { gone: string }): Meant {
  return (now) => {
    const known = new Set(then.map(({ id }) => id));
    const fresh = now.find(({ id }) => !known.has(id))?.id;
    const wanted = then.map(({ id }) => (id === replaced?.gone ? (fresh ?? id) : id));
    const there = new Set(now.map(({ id }) => id));
    if (now.length !== wanted.length || !wanted.every((id) => there.has(id))) return undefined;
    if (now.every(({ id }, index) => id === wanted[index])) return undefined;
    return { verb: "order", body: { step_ids: wanted } };
  };
}

/** Under the step that it lay under, or to the top level: its place among the others follows. */
function homeward(then: readonly Step[], step: Step): Meant {
  const parent = then[parentOf(then, step.index - 1) ?? -1]?.id;
  return (now) => {
    const index = now.findIndex(({ id }) => id === step.id) + 1;
    const home = parent === undefined ? 0 : now.findIndex(({ id }) => id === parent) + 1;
    if (index === 0 || (parent !== undefined && home === 0)) return undefined;
    return {
      verb: "move",
      body: parent === undefined ? { index, after_index: 0 } : { index, parent_index: home },
    };
  };
}

function removed(indices: readonly number[], before: readonly Step[]): Undo | undefined {
  const [index] = indices;
  const step = before[(index ?? 0) - 1];
  if (!step || indices.length !== 1 || endOf(before, step.index - 1) !== step.index) return undefined;
  const parent = before[parentOf(before, step.index - 1) ?? -1]?.id;
  const known = new Set(before.map(({ id }) => id));
  const again: Meant = (now) => {
    const items = [step.text];
    if (parent === undefined) return { verb: "add", body: { items } };
    const home = now.findIndex(({ id }) => id === parent) + 1;
    return home === 0 ? undefined : { verb: "add", body: { items, parent_index: home } };
  };
  const ticked: Meant = (now) => {
    const fresh = now.findIndex(({ id }) => !known.has(id)) + 1;
    return step.done && fresh > 0 ? { verb: "toggle", body: { indices: [fresh], done: true } } : undefined;
  };
  return { label: "Removed step", steps: [again, ordered(before, { gone: step.id }), ticked], anew: true };
}
