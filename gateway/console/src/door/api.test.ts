import { expect, it } from "vitest";
import { Problem } from "../api/http";
import { refusedAtDoor } from "./api";

function problem(status: number, reason: string): Problem {
  return new Problem(status, "No", "as the gateway says", reason, {}, undefined);
}

it("says why the door stays shut", () => {
  expect(refusedAtDoor(problem(401, "TOKEN_INVALID"))).toBe(
    "This token is not known here, or its time is up.",
  );
  expect(refusedAtDoor(problem(403, "PERSON_REQUIRED"))).toContain("not a person's");
  expect(refusedAtDoor(problem(400, "INVALID_FIELD"))).toBe("That is not a token.");
  expect(refusedAtDoor(problem(503, ""))).toBe("as the gateway says");
});
