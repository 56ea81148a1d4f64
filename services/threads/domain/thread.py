"""A thread as its log says it is: the row is this and nothing else (rebuild(events) == row)."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from services.threads.domain.autonomy import Policy
from services.threads.domain.canonical import Json, JsonObject
from services.threads.domain.cascade import CascadePolicy, Rule, Tally
from services.threads.domain.errors import Decided
from services.threads.domain.proposal import Proposal
from services.threads.domain.states import State, Target


class Relationship(StrEnum):
    """How a parent holds its children; it belongs to the parent and means nothing on a leaf."""

    DECOMPOSE = "decompose"
    GROUP = "group"
    SINGULAR = "singular"


@dataclass(frozen=True)
class ContextItem:
    """`id` is given by the source, stable, and unique within a thread."""

    id: str
    source: str = ""
    type: str = ""
    label: str = ""
    payload: Json = None


@dataclass(frozen=True)
class Inferred:
    """The newest intent or context, as inferred or as a person wrote it."""

    payload: JsonObject
    confidence: float | None
    by_user: bool = False


class FeedbackKind(StrEnum):
    """`redirect` says what was wrong, `clarification` answers a question."""

    REDIRECT = "redirect"
    CLARIFICATION = "clarification"


@dataclass(frozen=True)
class Feedback:
    """What a person said since the last real proposal; it reaches the model until one answers it (section
    0.8).
    """

    kind: FeedbackKind
    target: Target
    text: str
    seq: int
    seed_params: JsonObject = field(default_factory=dict)
    target_action: str = ""


@dataclass(frozen=True)
class Execution:
    """The newest execution: started once, finished at most once. `code` is machine-readable."""

    proposal_id: str
    started: bool = False
    finished: bool = False
    success: bool = False
    code: str = ""
    finish_time: datetime | None = None


@dataclass(frozen=True)
class AutoAdvance:
    """One decision of the policy gate, yes or no."""

    target: Target
    advance: bool
    confidence: float | None
    chosen_state: State
    axes: tuple[str, ...]


@dataclass(frozen=True)
class Thread:
    """One matter of work. `seq` is the number of its newest event; `since` is when `state` was entered,
    UTC.
    """

    thread_id: str
    title: str
    description: str
    autonomy: Policy
    state: State
    seq: int
    create_time: datetime
    update_time: datetime
    since: datetime
    context_items: tuple[ContextItem, ...] = ()
    source: str = ""
    urgency: str = "surface_now"
    parent_id: str | None = None
    path: tuple[str, ...] = ()
    ordinal: int = 0
    parent_relationship: Relationship = Relationship.DECOMPOSE
    originating_scrape_id: str | None = None
    children: int = 0
    open_children: int = 0
    dismissed_children: int = 0
    cascade_policy: CascadePolicy | None = None
    """As chosen at spawn; None: the relationship's own."""
    policy_met: bool = False
    """The policy is satisfied; what still executes is waited for (section 0.5)."""
    target: Target | None = None
    inferred: frozenset[Target] = frozenset()
    intent: Inferred | None = None
    context: Inferred | None = None
    proposal: Proposal | None = None
    prior_proposal: Proposal | None = None
    revision: int = 0
    question: str = ""
    feedback: tuple[Feedback, ...] = ()
    spent_usd: float = 0.0
    execution: Execution | None = None
    reason: str = ""
    decided: Decided | None = None
    handed_to: str = ""
    resurface_at: datetime | None = None
    """Until when it is snoozed; None again when that is over."""
    been_later: bool = False
    trail: tuple[AutoAdvance, ...] = ()
    last_event_id: str = ""
    session_id: str = ""
    """Of the session in which an agent proposed it; empty for most."""
    turn_id: str = ""

    @property
    def root_id(self) -> str:
        """The oldest ancestor, the thread itself for a root."""
        return self.path[0] if self.path else self.thread_id

    @property
    def policy_in_force(self) -> CascadePolicy:
        """The chosen cascade policy, else the relationship's own (section 0.5)."""
        if self.cascade_policy is not None:
            return self.cascade_policy
        singular = self.parent_relationship is Relationship.SINGULAR
        return CascadePolicy(Rule.ALL_DISMISSED_DISMISSES if singular else Rule.ALL_TERMINAL)

    @property
    def tally(self) -> Tally:
        """The children by how they ended."""
        return Tally(self.children, self.open_children, self.dismissed_children)

    @property
    def etag(self) -> str:
        """Changes with every event."""
        return str(self.seq)
