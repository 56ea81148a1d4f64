"""Execution is at most once: intent, start, result (design/threads.md, sections 0.9, 3.9)."""

from __future__ import annotations

from services.kernel.errors import NotAllowed
from services.threads.domain.branches import BranchFacts
from services.threads.domain.canonical import Json
from services.threads.domain.commands import (
    Citation,
    FinishExecution,
    LoseExecution,
    RecordLateResult,
    StartExecution,
)
from services.threads.domain.drafting import Draft
from services.threads.domain.errors import InvalidTransition, NoProposal
from services.threads.domain.events import Fact
from services.threads.domain.kinds import Kind
from services.threads.domain.proposal import Proposal
from services.threads.domain.proposing import check_citation
from services.threads.domain.states import State
from services.threads.domain.thread import Execution, Thread
from services.threads.domain.triggers import Trigger

_EXECUTING = frozenset({State.EXECUTING})


def start(draft: Draft, command: StartExecution) -> Draft:
    """The last word before the first effect: what runs must be what was approved, and must not have begun."""
    proposal, execution = _running(draft.thread, Trigger.EXECUTION_DONE)
    check_citation(draft.thread, Citation(command.proposal_id, command.digest), _EXECUTING)
    if execution.started and not proposal.idempotent:
        raise NotAllowed("EXECUTION_ALREADY_STARTED", "the action has already begun once", state=draft.thread.state)
    data: dict[str, Json] = {
        "capability_name": proposal.name,
        "parameters": proposal.parameters,
        "proposal_id": proposal.proposal_id,
        "digest": proposal.digest,
    }
    return draft.add(Fact(Kind.EXECUTION_STARTED, data))


def finish(draft: Draft, command: FinishExecution) -> Draft:
    """The runner's own verdict decides; a success that never started is refused."""
    trigger = Trigger.EXECUTION_DONE if command.success else Trigger.EXECUTION_FAILED
    proposal, execution = _running(draft.thread, trigger)
    if command.success and not execution.started:
        raise NotAllowed("EXECUTION_NOT_STARTED", "the action was never started", state=draft.thread.state)
    return _end(draft, proposal, success=command.success, code=command.code)


def lose(draft: Draft, command: LoseExecution) -> Draft:
    """Nothing had begun, or the action is idempotent: it is queued again, without an event. Else the
    runner is lost.
    """
    proposal, execution = _running(draft.thread, Trigger.EXECUTION_FAILED)
    if command.parked:
        return _end(draft, proposal, success=False, code="job_parked")
    if execution.started and not proposal.idempotent:
        return _end(draft, proposal, success=False, code="runner_lost")
    return draft


def record_late(draft: Draft, command: RecordLateResult) -> Draft:
    """An audit event in whatever state; the state never changes (PUB02 b)."""
    data: dict[str, Json] = {"success": command.success, "code": command.code, "late": True}
    return draft.add(Fact(Kind.EXECUTION_FINISHED, data))


def _end(draft: Draft, proposal: Proposal, *, success: bool, code: str) -> Draft:
    result: dict[str, Json] = {"success": success, "code": code}
    named: dict[str, Json] = {"capability_name": proposal.name, "proposal_id": proposal.proposal_id}
    draft.add(Fact(Kind.EXECUTION_FINISHED, {**named, **result}))
    if success:
        facts = BranchFacts(requires_post_review=proposal.requires_post_review)
        data: dict[str, Json] = {**result, "requires_post_review": proposal.requires_post_review}
        return draft.move(Trigger.EXECUTION_DONE, facts=facts, data=data)
    return draft.move(Trigger.EXECUTION_FAILED, data={**result, "reason": code or "failed"})


def _running(thread: Thread, trigger: Trigger) -> tuple[Proposal, Execution]:
    if thread.state is not State.EXECUTING:
        raise InvalidTransition(thread.state, trigger)
    if thread.proposal is None:
        raise NoProposal(thread.state)
    return thread.proposal, thread.execution or Execution(thread.proposal.proposal_id)
