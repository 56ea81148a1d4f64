"""Decisions of people: accept, edit, provide, reject, redirect, pick, dismiss, hand off (sections 0.2,
0.3, 6).
"""

from __future__ import annotations

from services.kernel.errors import Invalid
from services.threads.domain import limits
from services.threads.domain.branches import BranchFacts
from services.threads.domain.canonical import Json, JsonObject
from services.threads.domain.checks import check_line, check_object, check_text
from services.threads.domain.commands import (
    AcceptReview,
    Dismiss,
    Edit,
    HandOff,
    PickAction,
    Provide,
    Redirect,
    RedirectAction,
    Reject,
)
from services.threads.domain.drafting import Draft, refusal
from services.threads.domain.errors import AlreadyTerminal
from services.threads.domain.events import Fact
from services.threads.domain.kinds import Kind
from services.threads.domain.proposal import ActionChoice, Proposal, chosen_content, folded_content
from services.threads.domain.proposing import check_citation, cleared, decision, proposed
from services.threads.domain.states import CONFIRMATION, TERMINAL, State, Target
from services.threads.domain.table import lookup
from services.threads.domain.thread import Thread
from services.threads.domain.triggers import Trigger

GATE = frozenset({State.AWAITING_CONFIRMATION})
GATE_OR_FAILED = GATE | {State.AWAITING_REDIRECT}
"""After a failure the proposal is open again for a redirect or a dismissal, never for an approval."""


def edit(draft: Draft, command: Edit) -> Draft:
    """A person's own wording, or another action; at the action gate the thread stays there with a new
    revision.
    """
    thread = draft.thread
    check_citation(thread, command.cited, GATE)
    require_cell(thread, Trigger.EDITED)
    if thread.state in GATE:
        if command.text is not None:
            raise Invalid("INVALID_EDIT", "an action is edited by action or action_overrides", field="text")
        revised = revise(draft, command.action, command.overrides)
        if revised is None:
            raise Invalid("INVALID_EDIT", "the edit changes nothing", field="action")
        return draft.move(Trigger.EDITED, decision=decision("edit", revised, command.cited))
    if command.text is None or command.action is not None or command.overrides is not None:
        raise Invalid("INVALID_EDIT", "intent and context are edited by text", field="text")
    said = check_text("text", command.text, limits.FEEDBACK_MAX, shortest=1)
    target = Target.INTENT if thread.state is CONFIRMATION[Target.INTENT] else Target.CONTEXT
    kind = Kind.INTENT_INFERRED if target is Target.INTENT else Kind.CONTEXT_INFERRED
    data: dict[str, Json] = {"target": target, "payload": {target: said}, "confidence": 1.0}
    draft.add(Fact(kind, {**data, "from_user_override": True}))
    rest = Target.CONTEXT if target is Target.INTENT else Target.ACTION
    return draft.move(Trigger.EDITED, target=rest, decision=decision("edit"))


def provide(draft: Draft, command: Provide) -> Draft:
    """An answer to a question: an action goes to the gate, words go to the model."""
    if command.text is None and command.action is None:
        raise Invalid("INVALID_EDIT", "text or action is needed", field="text")
    return answer(draft, command)


def answer(draft: Draft, command: Provide) -> Draft:
    """As `provide`, but an empty answer is allowed and means: try again."""
    thread = draft.thread
    require_cell(thread, Trigger.PROVIDED)
    data: dict[str, Json] = {}
    if command.text is not None:
        data["text"] = check_text("text", command.text, limits.FEEDBACK_MAX, shortest=1)
    if command.action is None:
        target = Target.ACTION if thread.state is State.AWAITING_ACTION_CLARIFICATION else None
        return draft.move(Trigger.PROVIDED, target=target, decision=decision("provide"), data=data)
    if thread.state is not State.AWAITING_ACTION_CLARIFICATION:
        raise Invalid("INVALID_EDIT", f"{thread.state} is answered by text", field="action")
    chosen = choose(draft, command.action, 1.0)
    facts = BranchFacts(action_given=True, target=Target.ACTION)
    return draft.move(Trigger.PROVIDED, facts=facts, decision=decision("provide", chosen), data=data)


def reject(draft: Draft, command: Reject) -> Draft:
    """No; the thread ends."""
    check_citation(draft.thread, command.cited, GATE)
    feedback = check_text("feedback", command.feedback, limits.FEEDBACK_MAX)
    entry = decision("reject", draft.thread.proposal, command.cited)
    return draft.move(Trigger.REJECTED, decision=entry, data={"feedback": feedback})


def dismiss(draft: Draft, command: Dismiss) -> Draft:
    """The thread ends unless an action is running."""
    check_citation(draft.thread, command.cited, GATE_OR_FAILED)
    reason = check_text("reason", command.reason, limits.FEEDBACK_MAX)
    entry = decision("dismiss", _open_proposal(draft.thread), command.cited)
    return draft.move(Trigger.DISMISSED_BY_USER, decision=entry, data={"reason": reason})


def redirect(draft: Draft, command: Redirect) -> Draft:
    """Infer again what was wrong: intent and context their own target, everything later the action."""
    thread = draft.thread
    if thread.state in (CONFIRMATION[Target.INTENT], CONFIRMATION[Target.CONTEXT]):
        check_citation(thread, command.cited, GATE_OR_FAILED)
        feedback = check_text("feedback", command.feedback, limits.FEEDBACK_MAX).strip()
        target = Target.INTENT if thread.state is CONFIRMATION[Target.INTENT] else Target.CONTEXT
        data: JsonObject = {"redirect_feedback": feedback}
        return draft.move(Trigger.REDIRECTED, target=target, decision=decision("redirect"), data=data)
    return redirect_action(draft, RedirectAction(command.cited, command.feedback))


def redirect_action(draft: Draft, command: RedirectAction) -> Draft:
    """Record the feedback before the move, so that the inference it causes sees it (section 4.11)."""
    thread = draft.thread
    check_citation(thread, command.cited, GATE_OR_FAILED)
    require_cell(thread, Trigger.REDIRECTED)
    feedback = check_text("feedback", command.feedback, limits.FEEDBACK_MAX).strip()
    superseded = thread.proposal
    data: dict[str, Json] = {
        "feedback": feedback,
        "superseded_event_id": superseded.event_id if superseded else None,
        "superseded_proposal_id": superseded.proposal_id if superseded else None,
    }
    if command.seed_params:
        data["seed_params"] = check_object("params", command.seed_params)
    if command.target_action:
        data["target_action"] = check_text("target_action", command.target_action, limits.NAME_MAX)
    draft.add(Fact(Kind.ACTION_REDIRECTED, data))
    return draft.move(
        Trigger.REDIRECTED,
        target=Target.ACTION,
        decision=decision("redirect", superseded, command.cited),
        data={"redirect_feedback": feedback},
    )


def pick(draft: Draft, command: PickAction) -> Draft:
    """The person sets the proposal, or clears it; clearing moves nothing, and nothing to clear writes
    nothing.
    """
    thread = draft.thread
    if command.action is not None:
        require_cell(thread, Trigger.ACTION_PICKED)
        standing = thread.proposal
        chosen = choose(draft, command.action, command.confidence)
        entry: dict[str, Json] = {**decision("pick", chosen)}
        if standing is not None:
            entry["cited_proposal_id"] = standing.proposal_id
        return draft.move(Trigger.ACTION_PICKED, decision=entry, data={"reason": "user_picked_action"})
    if thread.state in TERMINAL or thread.state in (State.EXECUTING, State.AWAITING_REVIEW):
        raise refusal(thread, "set_action_proposal", by_person=True)
    return draft.add(cleared()) if thread.proposal is not None else draft


def accept_review(draft: Draft, _: AcceptReview) -> Draft:
    """The result is fine; the thread is done."""
    return draft.move(Trigger.REVIEW_ACCEPTED, decision=decision("accept_review", draft.thread.proposal))


def hand_off(draft: Draft, command: HandOff) -> Draft:
    """Somebody outside goes on; the thread ends."""
    to = check_line("to", command.to, limits.RECIPIENT_MAX)
    note = check_text("note", command.note, limits.FEEDBACK_MAX)
    entry = decision("hand_off", _open_proposal(draft.thread))
    return draft.move(Trigger.HAND_OFF, decision=entry, data={"handed_to": to, "note": note})


def revise(draft: Draft, choice: ActionChoice | None, overrides: JsonObject | None) -> Proposal | None:
    """Write a new revision if the choice or the overrides change the standing proposal; None if they do
    not.
    """
    standing = draft.thread.proposal
    if choice is None and not overrides:
        return None
    if standing is None and choice is None:
        raise Invalid(
            "INVALID_EDIT",
            "there is no action whose parameters could change",
            field="action_overrides",
        )
    content = folded_content(standing, choice, overrides)
    if standing is not None and content == standing.content:
        return None
    return _write(draft, content, 1.0)


def choose(draft: Draft, choice: ActionChoice, confidence: float | None) -> Proposal:
    """Write a fresh proposal of a person's choice."""
    return _write(draft, chosen_content(choice), confidence)


def require_cell(thread: Thread, trigger: Trigger) -> None:
    """Refuse before anything is drafted when the table has no cell."""
    if thread.state in TERMINAL and thread.decided is None:
        raise AlreadyTerminal(thread.state)
    if lookup(thread.state, trigger) is None:
        raise refusal(thread, trigger, by_person=True)


def _write(draft: Draft, content: JsonObject, confidence: float | None) -> Proposal:
    check_object("parameters", content)
    proposal, fact = proposed(draft.thread, draft.stamp.proposal_id, content, confidence=confidence, by_user=True)
    draft.add(fact)
    return proposal


def _open_proposal(thread: Thread) -> Proposal | None:
    return thread.proposal if thread.state in GATE_OR_FAILED else None
