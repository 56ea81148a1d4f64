"""What the threads domain refuses, as types with a reason and data (design/style.md, rule 7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from services.kernel.errors import Conflict, Denied, EtagMismatch, Exhausted, Invalid, NotAllowed, NotFound
from services.threads.domain.events import Actor
from services.threads.domain.proposal import Proposal
from services.threads.domain.states import State


class CorruptFamily(Exception):
    """Parents and children contradict each other. No refusal: only SQL behind the service's back can have done that."""


@dataclass(frozen=True)
class Decided:
    """A line of the decision ledger: who decided what about which proposal, when (section 0.3)."""

    choice: str
    actor: Actor
    time: datetime
    seq: int
    proposal_id: str | None
    digest: str | None
    cited_proposal_id: str | None = None

    def concerns(self, proposal_id: str) -> bool:
        """True if this line settled that proposal, be it as cited or as finally approved."""
        return proposal_id in (self.proposal_id, self.cited_proposal_id)


class ThreadNotFound(NotFound):
    """No such thread in the caller's tenant."""

    def __init__(self, thread_id: str) -> None:
        super().__init__("THREAD_NOT_FOUND", "no such thread", thread_id=thread_id)


class InvalidTransition(NotAllowed):
    """The pair (state, trigger) has no cell in the table."""

    def __init__(self, state: State, trigger: str) -> None:
        super().__init__("INVALID_TRANSITION", f"{trigger} is not allowed in {state}", state=state, trigger=trigger)


class AlreadyDecided(Conflict):
    """Somebody decided first: the metadata tells the loser who, what, when, and the state now (section 0.3)."""

    def __init__(self, state: State, decided: Decided) -> None:
        super().__init__(
            "ALREADY_DECIDED",
            f"already decided: {decided.choice} by {decided.actor.kind} {decided.actor.subject}",
            state=state,
            **_who(decided),
        )


class ProposalChanged(Conflict):
    """The cited proposal is not the one that stands; the ledger may know who settled it."""

    def __init__(self, state: State, cited: str, standing: Proposal | None) -> None:
        super().__init__(
            "PROPOSAL_CHANGED",
            "the proposal is not the one that stands now",
            state=state,
            proposal_id=standing.proposal_id if standing else None,
            proposal_digest=standing.digest if standing else None,
        )
        self.state = state
        self.cited = cited


class StaleEtag(EtagMismatch):
    """The thread moved on since the caller read it."""

    def __init__(self, etag: str, state: State, decided: Decided | None) -> None:
        super().__init__(
            "ETAG_MISMATCH",
            "the thread has changed since it was read",
            etag=etag,
            state=state,
            **_who(decided),
        )


class NoProposal(NotAllowed):
    """A cleared or empty proposal means that there is no action (section 0.8)."""

    def __init__(self, state: State) -> None:
        super().__init__("NO_PROPOSAL", "there is no action to decide on", state=state)


class ProposalNotCited(Invalid):
    """Who approves must say what: `proposal_id` and `proposal_digest` (section 0.3)."""

    def __init__(self) -> None:
        super().__init__(
            "PROPOSAL_NOT_CITED",
            "approving an action needs proposal_id and proposal_digest",
            field="proposal_id",
        )


class NotExecutable(NotAllowed):
    """A suggestion or an improvised plan names no registered action, so that nothing could run."""

    def __init__(self, state: State, kind: str) -> None:
        super().__init__("ACTION_NOT_ALLOWED", f"a proposal of kind {kind} runs nothing", state=state, kind=kind)


class PolicyMet(NotAllowed):
    """The parent has what it needs and only waits for what still executes (section 0.5)."""

    def __init__(self, state: State) -> None:
        super().__init__("POLICY_MET", "the family has what it needs: it gets no more children", state=state)


class WrongRelationship(NotAllowed):
    """Its children relate to it in another way."""

    def __init__(self, relationship: str) -> None:
        super().__init__(
            "WRONG_RELATIONSHIP", f"the thread's children are its {relationship}", relationship=relationship
        )


class TooDeep(Invalid):
    """A thread has at most 32 ancestors (section 0.4)."""

    def __init__(self, limit: int) -> None:
        super().__init__("TOO_DEEP", f"a thread has at most {limit} ancestors", field="parent_id", limit=limit)


class DescendantExecuting(NotAllowed):
    """A family is not closed over a running action unless that is asked for (section 0.5)."""

    def __init__(self, executing: Sequence[str]) -> None:
        listed = ", ".join(executing[:50])
        super().__init__(
            "DESCENDANT_EXECUTING",
            f"{len(executing)} sub-threads are executing: wait, or set cancel_executing",
            threads=listed,
            count=len(executing),
        )


class NoCleanup(NotAllowed):
    """No adapter knows where the thread comes from."""

    def __init__(self, state: State) -> None:
        super().__init__("NO_CLEANUP", "no clean-up adapter knows the source of this thread", state=state)


class NotYours(Denied):
    """An agent acts for the session of its own token alone."""

    def __init__(self) -> None:
        super().__init__("NOT_YOURS", "an agent acts for the session of its own token alone")


class TooManyProposals(Exhausted):
    """So many proposals of the session wait, or run, already."""

    def __init__(self, limit: int) -> None:
        told = f"{limit} proposals of this session are open: wait until people have decided on some"
        super().__init__("TOO_MANY_PROPOSALS", told, limit=limit)


class AlreadyTerminal(NotAllowed):
    """Terminal is absorbing (I3)."""

    def __init__(self, state: State) -> None:
        super().__init__("INVALID_TRANSITION", f"the thread is {state}, which is an end", state=state)


def _who(decided: Decided | None) -> dict[str, object]:
    if decided is None:
        return {}
    return {
        "decision": decided.choice,
        "decided_by": decided.actor.subject,
        "decided_by_kind": decided.actor.kind,
        "decided_time": decided.time.isoformat(),
        "decided_proposal_id": decided.proposal_id,
    }
