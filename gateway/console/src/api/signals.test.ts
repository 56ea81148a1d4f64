import { expect, it } from "vitest";
import { heard, tell } from "./signals";

it("tells those who listen, until they stop", () => {
  const told: string[] = [];
  const stop = heard("unanswered", () => told.push("no answer"));
  heard("unknown", () => told.push("who is it"));
  tell("unanswered");
  tell("unknown");
  stop();
  tell("unanswered");
  expect(told).toEqual(["no answer", "who is it"]);
});
