// What may stand beside a conversation, one at a time.

export type Side = "activity" | "workers" | "plan";

export const SIDES: Record<Side, { title: string; label: string; key: string }> = {
  workers: { title: "Workers", label: "Workers", key: "w" },
  plan: { title: "Plan", label: "Plan", key: "p" },
  activity: { title: "Activity", label: "Model activity", key: "v" },
};
