import { describe, expect, it } from "vitest";
import { problemOf } from "../api/http";
import { refusal } from "./refusals";

const document = (body: object): string => JSON.stringify(body);

describe("refusal", () => {
  it("names the winner of a race: who, what, when, and what stands", () => {
    const problem = problemOf(
      409,
      "Conflict",
      document({
        title: "Conflict",
        detail: "already decided",
        reason: "ALREADY_DECIDED",
        metadata: {
          decided_by: "ana",
          decided_by_kind: "user",
          decision: "approve",
          decided_at: "2026-03-10T12:00:00+00:00",
          state: "executing",
        },
      }),
    );
    const { winner, state, retryable, detail } = refusal(problem, "dismiss");
    expect(winner).toEqual({ who: "ana", what: "approved", at: Date.parse("2026-03-10T12:00:00Z") });
    expect(state).toBe("executing");
    expect(retryable).toBe(false);
    expect(detail).toContain("dismissal was not applied");
  });

  it("calls an agent an agent", () => {
    const problem = problemOf(
      409,
      "",
      document({ metadata: { decided_by: "pi-3", decided_by_kind: "agent", decision: "redirect" } }),
    );
    expect(refusal(problem, "accept").winner?.who).toBe("pi-3 (agent)");
  });

  it.each(["PROPOSAL_CHANGED", "PROPOSAL_SUPERSEDED", "DIGEST_MISMATCH"])(
    "says that the proposal changed: %s",
    (reason) => {
      const problem = problemOf(
        409,
        "",
        document({ reason, metadata: { state: "awaiting_confirmation", decided_by: "ana" } }),
      );
      expect(refusal(problem, "accept").title).toBe("The proposal changed");
    },
  );

  it("says what is wrong with the field", () => {
    const problem = problemOf(
      400,
      "",
      document({ detail: "must be text", metadata: { field: "parameters.path" } }),
    );
    expect(refusal(problem, "edit").detail).toBe("parameters.path: must be text");
  });

  it.each([0, 429, 500, 503, 504])("offers the same request again after %i", (status) => {
    expect(refusal(problemOf(status, "", "no json"), "accept").retryable).toBe(true);
  });

  it.each([400, 403, 404, 409, 412])("does not after %i", (status) => {
    expect(refusal(problemOf(status, "", ""), "accept").retryable).toBe(false);
  });
});

describe("problemOf", () => {
  it("survives whatever a proxy says", () => {
    expect(problemOf(502, "Bad Gateway", "<html>").title).toBe("Bad Gateway");
    expect(problemOf(500, "", "[]").title).toBe("Status 500");
    expect(problemOf(400, "", document({ title: 7, metadata: { field: 3 } })).metadata).toEqual({});
  });
});
