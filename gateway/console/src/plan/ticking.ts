// A plan as it will be when a tick has arrived. Pure.
import type { PlanCommand } from "./api";
import type { Plan } from "./types";

/** `back`: as it was before. Other commands than ticks change nothing here. */
export function ticked(plan: Plan, command: PlanCommand | undefined, way: "forth" | "back" = "forth"): Plan {
  if (command?.verb !== "toggle") return plan;
  const { indices } = command.body;
  const done = (way === "forth") === command.body.done;
  const steps = plan.steps.map((step) => (indices.includes(step.index) ? { ...step, done } : step));
  const leaves = steps.filter(({ leaf }) => leaf);
  const doneLeaves = leaves.filter((step) => step.done).length;
  const complete = leaves.length > 0 && doneLeaves === leaves.length;
  return { ...plan, steps, done_leaves: doneLeaves, complete };
}
