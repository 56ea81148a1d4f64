"""Accept: the trigger follows from the state, and what executes is what was cited, byte for byte
(sections 0.3, 6).
"""

from __future__ import annotations

from datetime import datetime, timedelta

from services.kernel.errors import Invalid
from services.threads.domain import limits
from services.threads.domain.canonical import Json, JsonObject
from services.threads.domain.commands import Accept, AcceptReview, Later, Provide, Redirect, Rename
from services.threads.domain.deciding_choices import GATE, accept_review, answer, redirect, revise
from services.threads.domain.deciding_combined import COMBINED, stopped_midway, walk
from services.threads.domain.deciding_upkeep import postponed, renamed
from services.threads.domain.drafting import Draft, refusal
from services.threads.domain.errors import NoProposal, NotExecutable, ProposalNotCited
from services.threads.domain.proposal import Proposal
from services.threads.domain.proposing import check_citation, cleared, decision
from services.threads.domain.reading import maybe_number, maybe_text, text
from services.threads.domain.states import CLARIFICATION, CONFIRMATION, State, Target, is_wait
from services.threads.domain.triggers import Trigger


def accept(draft: Draft, command: Accept) -> Draft:
    """Yes. Refused where the table has nothing to accept, so that an umbrella cannot be accepted."""
    state = draft.thread.state
    check_citation(draft.thread, command.cited, GATE)
    if state in GATE:
        return _approve(draft, command)
    changes = command.overrides or (command.action and state is not State.AWAITING_ACTION_CLARIFICATION)
    if changes and is_wait(state):
        raise Invalid("INVALID_EDIT", f"{state} has no action to change", field="action")
    if state in (CONFIRMATION[Target.INTENT], CONFIRMATION[Target.CONTEXT]):
        if stopped_midway(draft.thread):
            rest = Target.CONTEXT if state is CONFIRMATION[Target.INTENT] else Target.ACTION
            draft.move(Trigger.CONFIRMED, target=rest, decision=decision("confirm"), data=COMBINED)
            return walk(draft, rest)
        return draft.move(Trigger.CONFIRMED, decision=decision("confirm"))
    if state in CLARIFICATION.values():
        return answer(draft, Provide(action=command.action))
    if state is State.AWAITING_REVIEW:
        return accept_review(draft, AcceptReview())
    if state is State.AWAITING_REDIRECT:
        return redirect(draft, Redirect())
    raise refusal(draft.thread, "accept", by_person=True)


def _approve(draft: Draft, command: Accept) -> Draft:
    standing = draft.thread.proposal
    if standing is None:
        raise NoProposal(draft.thread.state)
    if command.cited is None:
        raise ProposalNotCited
    approved = revise(draft, command.action, command.overrides) or standing
    entry = decision("approve", approved, command.cited)
    if approved.is_universal:
        return _run_universal(draft, approved, entry)
    if not approved.is_executable:
        raise NotExecutable(draft.thread.state, approved.kind)
    return draft.move(Trigger.EXECUTE, decision=entry)


def _run_universal(draft: Draft, approved: Proposal, entry: JsonObject) -> Draft:
    """Dismiss ends the thread; defer and rename take effect here, stay at the gate and clear the proposal
    (0.10).
    """
    parameters = approved.parameters
    ran: dict[str, Json] = {"universal_action": approved.name}
    match approved.name:
        case "thread_dismiss":
            return draft.move(
                Trigger.DISMISSED_BY_USER, decision=entry, data={**ran, "reason": text(parameters, "reason")}
            )
        case "thread_defer":
            fact = postponed(draft.thread, Later(_until(draft.stamp.now, parameters)), draft.stamp.now)
        case _:
            fact = renamed(draft.thread, Rename(text(parameters, "new_title")))
    return draft.move(Trigger.EDITED, decision=entry, data=ran).add(fact, cleared())


def _until(now: datetime, parameters: JsonObject) -> datetime:
    given = maybe_text(parameters, "resurface_at")
    if given is not None:
        try:
            until = datetime.fromisoformat(given)
        except ValueError:
            raise Invalid("INVALID_TIME", "resurface_at is an RFC 3339 time", field="resurface_at") from None
        if until.tzinfo is None:
            raise Invalid("INVALID_TIME", "resurface_at needs an offset", field="resurface_at")
        return until
    hours = maybe_number(parameters, "duration_hours") or maybe_number(parameters, "hours")
    return now + timedelta(hours=min(hours or limits.DEFER_HOURS_DEFAULT, 10 * limits.DEFER_HOURS_MAX))
