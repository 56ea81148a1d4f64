"""Where a branch of the table leads, from the facts of the move (design/threads.md, section 1.4 and 0.2)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import assert_never

from services.threads.domain import states
from services.threads.domain.autonomy import Policy
from services.threads.domain.gate import Verdict, judge
from services.threads.domain.proposal import Proposal
from services.threads.domain.states import State, Target
from services.threads.domain.table import Branch


@dataclass(frozen=True)
class BranchFacts:
    """What a resolution may look at. Defaults are the careful answers."""

    policy: Policy = field(default_factory=Policy)
    confidence: float | None = None
    proposal: Proposal | None = None
    target: Target = Target.INTENT
    clarification: bool = False
    requires_post_review: bool = False
    retry: bool = False
    action_given: bool = False
    all_terminal: bool = False
    all_dismissed_singular: bool = False


@dataclass(frozen=True)
class Resolution:
    """The next state, and the verdict of the policy gate where one was asked."""

    state: State
    verdict: Verdict | None = None


def resolve(branch: Branch, facts: BranchFacts) -> Resolution:
    """Resolve one branch; pure, and never outside of `table.REACH`."""
    match branch:
        case Branch.INTENT_REVIEW_OR_ADVANCE:
            return _review_or_advance(Target.INTENT, facts)
        case Branch.CONTEXT_REVIEW_OR_ADVANCE:
            return _review_or_advance(Target.CONTEXT, facts)
        case Branch.ACTION_REVIEW_OR_EXECUTE:
            if facts.clarification:
                return Resolution(State.AWAITING_ACTION_CLARIFICATION)
            verdict = judge(facts.policy, Target.ACTION, facts.confidence, facts.proposal)
            return Resolution(State.EXECUTING if verdict.advance else State.AWAITING_CONFIRMATION, verdict)
        case Branch.DONE_OR_REVIEW:
            return Resolution(State.AWAITING_REVIEW if facts.requires_post_review else State.DONE)
        case Branch.DONE_WHEN_ALL_SUBTHREADS_TERMINAL:
            if facts.all_dismissed_singular:
                return Resolution(State.DISMISSED)
            return Resolution(State.DONE if facts.all_terminal else State.MONITORING)
        case Branch.INFERRING_TARGET:
            return Resolution(states.INFERRING[facts.target])
        case Branch.RETRY_OR_CLARIFICATION:
            return Resolution(State.AWAITING_INFERENCE if facts.retry else states.CLARIFICATION[facts.target])
        case Branch.CLARIFICATION_OF_TARGET:
            return Resolution(states.CLARIFICATION[facts.target])
        case Branch.PROVIDED_ACTION_OR_TEXT:
            return Resolution(State.AWAITING_CONFIRMATION if facts.action_given else State.AWAITING_INFERENCE)
        case _:
            assert_never(branch)


def _review_or_advance(target: Target, facts: BranchFacts) -> Resolution:
    verdict = judge(facts.policy, target, facts.confidence)
    return Resolution(State.AWAITING_INFERENCE if verdict.advance else states.CONFIRMATION[target], verdict)
