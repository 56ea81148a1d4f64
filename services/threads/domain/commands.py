"""Every command that a thread understands; imperative, frozen, already translated (design/threads.md,
sections 0.2, 6).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias

from services.threads.domain.autonomy import Policy
from services.threads.domain.canonical import JsonObject
from services.threads.domain.cascade import CascadePolicy
from services.threads.domain.events import Actor
from services.threads.domain.proposal import ActionChoice, ActionDraft
from services.threads.domain.states import State
from services.threads.domain.thread import ContextItem, Relationship


@dataclass(frozen=True)
class Stamp:
    """What decide may not make up: the caller, the time (UTC), fresh ids, the etag the caller
    read.
    """

    actor: Actor
    now: datetime
    proposal_id: str = ""
    etag: str | None = None
    new_event_id: Callable[[], str] = lambda: ""


@dataclass(frozen=True)
class Citation:
    """The proposal a decision is about, as the decider read it."""

    proposal_id: str
    digest: str


@dataclass(frozen=True)
class Spawn:
    """A start that is no inference (section 0.2): a proposal to decide on, a question to answer, or an end. Nothing
    that is spawned executes by itself.
    """

    state: State
    reason: str
    action: ActionChoice | None = None
    question: str = ""


@dataclass(frozen=True)
class CreateThread:
    """A new root or child. It begins inference at once unless `begin` is False or it is spawned elsewhere."""

    thread_id: str
    title: str
    description: str = ""
    context_items: tuple[ContextItem, ...] = ()
    autonomy: Policy = field(default_factory=Policy)
    source: str = "user"
    urgency: str = "surface_now"
    parent_id: str | None = None
    path: tuple[str, ...] = ()
    ordinal: int = 0
    parent_relationship: Relationship = Relationship.DECOMPOSE
    originating_scrape_id: str | None = None
    begin: bool = True
    spawn: Spawn | None = None
    session_id: str = ""
    """Of the session in which an agent proposes it, and the turn of it, where it is named."""
    turn_id: str = ""


@dataclass(frozen=True)
class BeginInference:
    """A proposed thread is started."""


# inference ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ClaimInference:
    """A runner claims the job; refused inside the log (`inference_refused`) when the budget is used up."""

    attempt: int = 1


@dataclass(frozen=True)
class CompleteInference:
    """The answer: `payload` for intent and context, `draft` for an action. An empty answer is a failure."""

    payload: JsonObject = field(default_factory=dict)
    draft: ActionDraft | None = None
    confidence: float | None = None
    model_used: str = ""
    tier_used: str = ""
    cost_usd: float = 0.0


@dataclass(frozen=True)
class CompleteCombined:
    """One call answered all three targets (axis combined_inference)."""

    intent: CompleteInference
    context: CompleteInference
    action: CompleteInference


@dataclass(frozen=True)
class FailInference:
    """The runner could not answer; `retry` while attempts are left. `code` is machine-readable."""

    code: str
    retry: bool = False
    cost_usd: float = 0.0


@dataclass(frozen=True)
class LoseInference:
    """The lease ran out; `retry` while attempts are left."""

    retry: bool


@dataclass(frozen=True)
class RefuseInference:
    """Admission says no, for instance over budget."""

    code: str


# decisions of people --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Accept:
    """Yes, in whatever state: the trigger follows from it (section 6)."""

    cited: Citation | None = None
    action: ActionChoice | None = None
    overrides: JsonObject | None = None


@dataclass(frozen=True)
class Edit:
    """A correction: `text` at the intent and context gates, an action or single parameters at the action
    gate.
    """

    cited: Citation | None = None
    text: str | None = None
    action: ActionChoice | None = None
    overrides: JsonObject | None = None


@dataclass(frozen=True)
class Provide:
    """An answer to a clarification: words, or the action itself."""

    text: str | None = None
    action: ActionChoice | None = None


@dataclass(frozen=True)
class Reject:
    """No to the proposal, and with it to the thread."""

    cited: Citation | None = None
    feedback: str = ""


@dataclass(frozen=True)
class Dismiss:
    """The thread is not wanted."""

    cited: Citation | None = None
    reason: str = "user_dismiss"
    cancel_executing: bool = False


@dataclass(frozen=True)
class Redirect:
    """Not so, but otherwise: infers the same target again."""

    cited: Citation | None = None
    feedback: str = ""


@dataclass(frozen=True)
class RedirectAction:
    """Keep intent and context, propose another action (section 4.11)."""

    cited: Citation | None = None
    feedback: str = ""
    seed_params: JsonObject = field(default_factory=dict)
    target_action: str = ""


@dataclass(frozen=True)
class PickAction:
    """The person sets the proposal; None clears it (`set_action_proposal`)."""

    action: ActionChoice | None
    confidence: float | None = 1.0


@dataclass(frozen=True)
class AcceptReview:
    """The result is fine."""


@dataclass(frozen=True)
class HandOff:
    """Somebody else takes over, outside of Treadle."""

    to: str
    note: str = ""


@dataclass(frozen=True)
class Later:
    """Hide from the inbox until then; no move."""

    resurface_at: datetime


@dataclass(frozen=True)
class Resurface:
    """The snooze is over; no move."""


@dataclass(frozen=True)
class Rename:
    """A new title."""

    title: str


# execution ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class StartExecution:
    """The runner is about to have its first effect, with these bytes."""

    proposal_id: str
    digest: str


@dataclass(frozen=True)
class FinishExecution:
    """The action ended."""

    success: bool
    code: str = ""


@dataclass(frozen=True)
class LoseExecution:
    """The lease ran out. Before the start it is queued again unless `parked`; after it the runner is lost."""

    parked: bool = False


@dataclass(frozen=True)
class RecordLateResult:
    """A result with a fence that is not valid any more: kept in the log, without any effect (section 0.9)."""

    success: bool
    code: str = ""


# time, cleanup, family ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Timeout:
    """The durable timer of the state is due."""


@dataclass(frozen=True)
class RequestCleanup:
    """Take the source of the thread away: `task` names the adapter and its parameters."""

    task: JsonObject = field(default_factory=dict)


@dataclass(frozen=True)
class FinishCleanup:
    """The cleanup adapter answered."""

    success: bool
    code: str = ""
    source_already_gone: bool = False


@dataclass(frozen=True)
class RetryCleanup:
    """Try the cleanup again."""

    task: JsonObject = field(default_factory=dict)


@dataclass(frozen=True)
class AcceptCleanupFailure:
    """Leave the source as it is."""


@dataclass(frozen=True)
class ForceClose:
    """The parent, or an operator, ends the thread in whatever live state."""

    reason: str = "parent_force_close"
    cancel_executing: bool = False
    cascaded: tuple[str, ...] | None = None
    """The descendants that were closed with it, deepest first, where it was the one that was told to close."""


@dataclass(frozen=True)
class SpawnChildren:
    """Children were created for this thread, in this order, in the same transaction. `labels` make it columns of a
    group; None keeps what the thread has.
    """

    child_thread_ids: tuple[str, ...]
    labels: tuple[str, ...] = ()
    relationship: Relationship | None = None
    cascade_policy: CascadePolicy | None = None
    originating_scrape_id: str | None = None
    source_count: int = 0
    cluster_count: int = 0
    user_created: bool = False


@dataclass(frozen=True)
class ReportChildren:
    """Children reached these terminal states, in this order, in the same transaction."""

    ended: tuple[tuple[str, State], ...]


@dataclass(frozen=True)
class SettleChildren:
    """The children were looked at: are all terminal, and (singular) all dismissed?"""

    all_terminal: bool
    all_dismissed_singular: bool = False


@dataclass(frozen=True)
class GiveItems:
    """These items leave for a sibling."""

    items: tuple[ContextItem, ...]
    migration_id: str
    to: str
    umbrella_id: str


@dataclass(frozen=True)
class TakeItems:
    """These items arrive from a sibling, last and in this order."""

    items: tuple[ContextItem, ...]
    migration_id: str
    source: str
    umbrella_id: str


@dataclass(frozen=True)
class DeleteColumn:
    """For the umbrella: a column is deleted; its items stay its own."""

    child_id: str
    item_ids: tuple[str, ...]


Command: TypeAlias = (
    CreateThread
    | BeginInference
    | ClaimInference
    | CompleteInference
    | CompleteCombined
    | FailInference
    | LoseInference
    | RefuseInference
    | Accept
    | Edit
    | Provide
    | Reject
    | Dismiss
    | Redirect
    | RedirectAction
    | PickAction
    | AcceptReview
    | HandOff
    | GiveItems
    | TakeItems
    | DeleteColumn
    | Later
    | Resurface
    | Rename
    | StartExecution
    | FinishExecution
    | LoseExecution
    | RecordLateResult
    | Timeout
    | RequestCleanup
    | FinishCleanup
    | RetryCleanup
    | AcceptCleanupFailure
    | ForceClose
    | SpawnChildren
    | ReportChildren
    | SettleChildren
)
