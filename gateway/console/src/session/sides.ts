// What may stand beside a conversation, one at a time.

export type Side = "activity" | "workers";

export const SIDES: Record<Side, { title: string; label: string; key: string }> = {
  workers: { title: "Workers", label: "Workers", key: "w" },
  activity: { title: "Activity", label: "Model activity", key: "v" },
};
