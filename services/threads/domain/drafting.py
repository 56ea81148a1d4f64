"""A draft of a command's events: adds facts, moves through the table, evolves as it goes. Pure seen from
outside.
"""

from __future__ import annotations

from collections.abc import Mapping

from services.threads.domain.branches import BranchFacts, resolve
from services.threads.domain.canonical import Json, JsonObject
from services.threads.domain.checks import refuse_reserved
from services.threads.domain.commands import Stamp
from services.threads.domain.errors import AlreadyDecided, InvalidTransition
from services.threads.domain.events import FSM, Event, Fact, number
from services.threads.domain.evolve import evolve
from services.threads.domain.gate import Verdict
from services.threads.domain.kinds import Kind
from services.threads.domain.states import State, Target
from services.threads.domain.table import Branch, lookup
from services.threads.domain.target import next_target
from services.threads.domain.thread import Thread
from services.threads.domain.triggers import Trigger


class Draft:
    """Local to one `decide`: `thread` is always the thread as the events so far leave it."""

    def __init__(self, thread: Thread, stamp: Stamp, events: tuple[Event, ...] = ()) -> None:
        self.thread = thread
        self.stamp = stamp
        self.events = events

    def add(self, *facts: Fact) -> Draft:
        """Append facts with the next numbers."""
        for event in number(facts, self.thread.seq, self.stamp.now, self.stamp.actor, self.stamp.new_event_id):
            self.thread = evolve(self.thread, event)
            self.events = (*self.events, event)
        return self

    def move(
        self,
        trigger: Trigger,
        *,
        facts: BranchFacts | None = None,
        target: Target | None = None,
        decision: JsonObject | None = None,
        data: JsonObject | None = None,
    ) -> Draft:
        """Fire a trigger: one state_transition, and the gate's audit where a gate was asked.

        Raises InvalidTransition when the cell is empty, AlreadyDecided when a person comes after
        another's decision.
        """
        state = self.thread.state
        cell = lookup(state, trigger)
        if cell is None:
            raise refusal(self.thread, trigger, by_person=decision is not None)
        facts = facts or BranchFacts(target=self.thread.target or next_target(self.thread))
        resolution = resolve(cell, facts) if isinstance(cell, Branch) else None
        to = resolution.state if resolution else State(cell)
        moved: dict[str, Json] = {"from": state, "to": to, "trigger": trigger}
        if to is State.AWAITING_INFERENCE:
            moved["target"] = next_target(self.thread, target)
        if decision is not None:
            moved["decision"] = decision
        if data:
            refuse_reserved("data", data)
            moved |= data
        self.add(Fact(Kind.STATE_TRANSITION, moved))
        if isinstance(cell, Branch) and resolution and resolution.verdict:
            self.add(_audit(cell, resolution.verdict, to, facts))
        return self


def refusal(thread: Thread, trigger: str, *, by_person: bool) -> Exception:
    """Why a trigger is refused: a person who lost a race is told who won, all else names state and
    trigger.
    """
    if by_person and thread.decided is not None:
        return AlreadyDecided(thread.state, thread.decided)
    return InvalidTransition(thread.state, trigger)


def _audit(branch: Branch, verdict: Verdict, chosen: State, facts: BranchFacts) -> Fact:
    data: dict[str, Json] = {
        "branch_label": branch,
        "advance": verdict.advance,
        "chosen_state": chosen,
        "axes": list(verdict.axes),
        "target": facts.target,
        "confidence": facts.confidence,
    }
    if facts.proposal is not None:
        content: Mapping[str, Json] = facts.proposal.content
        data |= {
            "action_kind": facts.proposal.kind,
            "action_name": facts.proposal.name,
            "irreversibility": content.get("irreversibility"),
            "regret_potential": content.get("regret_potential"),
            "risk_amplifier": content.get("risk_amplifier"),
            "requires_post_review": facts.proposal.requires_post_review,
            "proposal_id": facts.proposal.proposal_id,
        }
    return Fact(Kind.AUTO_ADVANCE_DECISION, data, FSM)
