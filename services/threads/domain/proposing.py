"""Facts about proposals: the action_inferred event and the citation that a decision must match."""

from __future__ import annotations

from services.threads.domain.canonical import Json, JsonObject
from services.threads.domain.commands import Citation
from services.threads.domain.errors import AlreadyDecided, ProposalChanged
from services.threads.domain.events import Fact
from services.threads.domain.kinds import Kind
from services.threads.domain.proposal import ActionKind, Proposal
from services.threads.domain.states import State, Target
from services.threads.domain.thread import Thread


def proposed(
    thread: Thread,
    proposal_id: str,
    content: JsonObject,
    *,
    confidence: float | None,
    by_user: bool,
    extra: JsonObject | None = None,
) -> tuple[Proposal, Fact]:
    """A new revision of the thread's proposal and the event that records it."""
    proposal = Proposal(
        proposal_id=proposal_id,
        revision=thread.revision + 1,
        kind=ActionKind(str(content["kind"])),
        name=str(content["name"]),
        content=content,
        requires_post_review=bool(content["requires_post_review"]),
        idempotent=bool(content["idempotent"]),
        confidence=confidence,
        by_user=by_user,
    )
    data: dict[str, Json] = {
        "target": Target.ACTION,
        "payload": content,
        "proposal_id": proposal_id,
        "revision": proposal.revision,
        "digest": proposal.digest,
        "confidence": confidence,
        **(extra or {}),
    }
    if by_user:
        data["from_user_override"] = True
    return proposal, Fact(Kind.ACTION_INFERRED, data)


def cleared() -> Fact:
    """There is no action any more (section 0.8)."""
    return Fact(Kind.ACTION_INFERRED, {"target": Target.ACTION, "payload": {"name": ""}, "cleared": True})


def check_citation(thread: Thread, cited: Citation | None, open_in: frozenset[State]) -> None:
    """Refuse a decision whose proposal does not stand, undecided, in this state, or is not what was read."""
    if cited is None:
        return
    standing = thread.proposal
    if standing is None or standing.proposal_id != cited.proposal_id or thread.state not in open_in:
        decided = thread.decided
        if decided is not None and decided.concerns(cited.proposal_id):
            raise AlreadyDecided(thread.state, decided)
        raise ProposalChanged(thread.state, cited.proposal_id, standing)
    if standing.digest != cited.digest:
        raise ProposalChanged(thread.state, cited.proposal_id, standing)


def decision(choice: str, proposal: Proposal | None = None, cited: Citation | None = None) -> JsonObject:
    """The ledger's part of a state_transition: what was decided about which bytes (section 0.3)."""
    entry: dict[str, Json] = {"choice": choice}
    if proposal is not None:
        entry |= {"proposal_id": proposal.proposal_id, "digest": proposal.digest}
    if cited is not None and (proposal is None or cited.proposal_id != proposal.proposal_id):
        entry["cited_proposal_id"] = cited.proposal_id
    return entry
