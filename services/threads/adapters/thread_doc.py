"""A thread as one JSON document, both ways, without loss: what the row holds besides its columns.
Items are rows of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from functools import lru_cache
from typing import Any

import orjson

from services.threads.domain.autonomy import Policy
from services.threads.domain.cascade import cascade_from, cascade_json
from services.threads.domain.errors import Decided
from services.threads.domain.events import Actor, ActorKind
from services.threads.domain.policy_json import policy_from, policy_json
from services.threads.domain.proposal import ActionKind, Proposal
from services.threads.domain.states import State, Target
from services.threads.domain.thread import (
    AutoAdvance,
    ContextItem,
    Execution,
    Feedback,
    FeedbackKind,
    Inferred,
    Relationship,
    Thread,
)

Doc = Mapping[str, Any]
_PLAIN = ("thread_id", "title", "description", "seq", "source", "urgency", "parent_id", "ordinal")
_PLAIN_TOO = ("originating_scrape_id", "children", "open_children", "revision", "question", "spent_usd", "reason")
_PROPOSAL = tuple(field.name for field in fields(Proposal))
_KIND = {kind.value: kind for kind in ActionKind}
_COPIED = (*_PLAIN, *_PLAIN_TOO, "handed_to", "last_event_id")


def dump(thread: Thread) -> str:
    """The document's text."""
    doc: dict[str, Any] = {name: getattr(thread, name) for name in _COPIED}
    doc |= {
        "autonomy": _policy_text(thread.autonomy),
        "state": thread.state,
        "create_time": _time(thread.create_time),
        "update_time": _time(thread.update_time),
        "since": _time(thread.since),
        "path": list(thread.path),
        "parent_relationship": thread.parent_relationship,
        "target": thread.target,
        "inferred": sorted(thread.inferred),
        "intent": _inferred(thread.intent),
        "context": _inferred(thread.context),
        "proposal": _proposal(thread.proposal),
        "proposal_digest": None if thread.proposal is None else thread.proposal.digest,
        "prior_proposal": _proposal(thread.prior_proposal),
        "feedback": [_feedback(said) for said in thread.feedback],
        "execution": _execution(thread.execution),
        "decided": _decided(thread.decided),
        "resurface_at": _time(thread.resurface_at),
        "been_later": thread.been_later,
        "trail": [_advance(entry) for entry in thread.trail],
        "dismissed_children": thread.dismissed_children,
        "cascade_policy": None if thread.cascade_policy is None else cascade_json(thread.cascade_policy),
        "policy_met": thread.policy_met,
        "session_id": thread.session_id,
        "turn_id": thread.turn_id,
    }
    return orjson.dumps(doc).decode()


def load(text: str, items: tuple[ContextItem, ...] = ()) -> Thread:
    """The thread of a document that `dump` made, with the items that a read brought along."""
    doc: Doc = orjson.loads(text)
    return Thread(
        **{name: doc[name] for name in _COPIED},
        autonomy=_policy(doc["autonomy"]),
        state=State(doc["state"]),
        create_time=datetime.fromisoformat(doc["create_time"]),
        update_time=datetime.fromisoformat(doc["update_time"]),
        since=datetime.fromisoformat(doc["since"]),
        context_items=items,
        path=tuple(doc["path"]),
        parent_relationship=Relationship(doc["parent_relationship"]),
        target=None if doc["target"] is None else Target(doc["target"]),
        inferred=frozenset(Target(target) for target in doc["inferred"]),
        intent=_inferred_from(doc["intent"]),
        context=_inferred_from(doc["context"]),
        proposal=proposal_from(doc["proposal"]),
        prior_proposal=proposal_from(doc["prior_proposal"]),
        feedback=tuple(_feedback_from(said) for said in doc["feedback"]),
        execution=_execution_from(doc["execution"]),
        decided=_decided_from(doc["decided"]),
        resurface_at=_time_from(doc["resurface_at"]),
        been_later=doc.get("been_later", doc["resurface_at"] is not None),
        trail=tuple(_advance_from(entry) for entry in doc["trail"]),
        dismissed_children=doc.get("dismissed_children", 0),
        cascade_policy=None if doc.get("cascade_policy") is None else cascade_from(doc["cascade_policy"]),
        policy_met=doc.get("policy_met", False),
        session_id=doc.get("session_id", ""),
        turn_id=doc.get("turn_id", ""),
    )


@lru_cache(maxsize=256)
def _policy_text(policy: Policy) -> str:
    """Most threads have one of few policies: neither way is walked again for them."""
    return orjson.dumps(policy_json(policy)).decode()


@lru_cache(maxsize=256)
def _policy(text: str) -> Policy:
    return policy_from(orjson.loads(text))


def _inferred(inferred: Inferred | None) -> Doc | None:
    return None if inferred is None else dict(vars(inferred))


def _inferred_from(doc: Doc | None) -> Inferred | None:
    return None if doc is None else Inferred(**doc)


def _proposal(proposal: Proposal | None) -> Doc | None:
    return None if proposal is None else {name: getattr(proposal, name) for name in _PROPOSAL}


def proposal_from(doc: Doc | None, digest: str | None = None) -> Proposal | None:
    """A proposal out of the document. `digest`: as it was written, for reads that only show it."""
    if doc is None:
        return None
    proposal = Proposal(**{**doc, "kind": _KIND[doc["kind"]]})
    if digest is not None:
        vars(proposal)["digest"] = digest  # the cached property's own place
    return proposal


def _feedback(said: Feedback) -> Doc:
    return dict(vars(said))


def _feedback_from(doc: Doc) -> Feedback:
    return Feedback(**{**doc, "kind": FeedbackKind(doc["kind"]), "target": Target(doc["target"])})


def _execution(execution: Execution | None) -> Doc | None:
    return None if execution is None else {**vars(execution), "finish_time": _time(execution.finish_time)}


def _execution_from(doc: Doc | None) -> Execution | None:
    return None if doc is None else Execution(**{**doc, "finish_time": _time_from(doc["finish_time"])})


def _decided(decided: Decided | None) -> Doc | None:
    if decided is None:
        return None
    return {**vars(decided), "actor": dict(vars(decided.actor)), "time": _time(decided.time)}


def _decided_from(doc: Doc | None) -> Decided | None:
    if doc is None:
        return None
    actor = Actor(ActorKind(doc["actor"]["kind"]), doc["actor"]["subject"])
    return Decided(**{**doc, "actor": actor, "time": datetime.fromisoformat(doc["time"])})


def _advance(entry: AutoAdvance) -> Doc:
    return {**vars(entry), "axes": list(entry.axes)}


def _advance_from(doc: Doc) -> AutoAdvance:
    return AutoAdvance(
        Target(doc["target"]), doc["advance"], doc["confidence"], State(doc["chosen_state"]), tuple(doc["axes"])
    )


def _time(time: datetime | None) -> str | None:
    return None if time is None else time.isoformat()


def _time_from(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
