// The action that waits: what, with which parameters, why, and how much it could hurt.
import type { Action } from "../api/types";
import { visible } from "../text/visible";
import { Parameters } from "./Parameters";

export function Proposal({ action, heading }: { action: Action; heading: string }) {
  return (
    <section aria-label={heading} data-proposal={action.proposal_id} className="flex flex-col gap-3">
      <div className="flex flex-wrap items-baseline gap-x-3 gap-y-1">
        <h2 className="eyebrow w-full">
          {heading}
          {(action.revision ?? 1) > 1 ? (
            <span className="normal-case tracking-normal"> · revision {action.revision}</span>
          ) : null}
        </h2>
        <code className="font-mono text-base font-semibold [overflow-wrap:anywhere]">
          {visible(action.name)}
        </code>
        {action.plan_summary ? (
          <p className="text-base text-muted [overflow-wrap:anywhere]">{visible(action.plan_summary)}</p>
        ) : null}
      </div>
      <Parameters parameters={action.parameters ?? {}} />
      {action.rationale ? (
        <p className="max-w-prose text-base [overflow-wrap:anywhere]">
          <span className="mr-2 text-sm text-muted">Why</span>
          {visible(action.rationale)}
        </p>
      ) : null}
      <Risk action={action} />
    </section>
  );
}

const LEVEL: Partial<Record<string, string>> = {
  low: "text-moss",
  medium: "text-weld",
  high: "text-madder font-semibold",
};

export function Risk({ action }: { action: Action }) {
  return (
    <dl className="flex flex-wrap gap-x-6 gap-y-1 text-sm">
      <Level name="Hard to undo" value={action.irreversibility} />
      <Level name="Regret" value={action.regret_potential} />
      {action.confidence === undefined ? null : (
        <Fact name="Confidence">
          <span className="tabular-nums">{percent(action.confidence)}</span>
        </Fact>
      )}
      {action.model_used ? <Fact name="Proposed by">{action.model_used}</Fact> : null}
      {action.risk_amplifier ? <dd className="font-semibold text-madder">Riskier than usual</dd> : null}
    </dl>
  );
}

function Level({ name, value }: { name: string; value: string | undefined }) {
  // An unknown level counts as high (design/threads.md §3.5), and says so.
  const level = value || "unknown";
  return (
    <Fact name={name}>
      <span className={LEVEL[level] ?? "font-semibold text-madder"}>{level}</span>
    </Fact>
  );
}

function Fact({ name, children }: { name: string; children: React.ReactNode }) {
  return (
    <div className="flex gap-2">
      <dt className="text-muted">{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

export function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}
