"""Threads and effects as values of rows: what a write of one thread and a write of many have in common."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from services.threads.adapters import thread_doc
from services.threads.application.ports import JobKind
from services.threads.domain import effects as e
from services.threads.domain.thread import Thread


def changing(after: Thread) -> dict[str, Any]:
    """The columns that any event may change, the timer aside."""
    return {
        "state": after.state,
        "seq": after.seq,
        "children": after.children,
        "open_children": after.open_children,
        "since": after.since,
        "resurface_at": after.resurface_at,
        "update_time": after.update_time,
        "ends_early": after.policy_in_force.ends_early,
        "policy_met": after.policy_met,
        "doc": thread_doc.dump(after),
    }


def thread_row(tenant: str, after: Thread, timer: datetime | None) -> dict[str, Any]:
    """A new row."""
    return {
        "tenant": tenant,
        "id": after.thread_id,
        "parent_id": after.parent_id,
        "root_id": after.root_id,
        "path": list(after.path),
        "ordinal": after.ordinal,
        "create_time": after.create_time,
        "session_id": after.session_id or None,
        **changing(after),
        "timer_at": timer,
    }


def sets_timer(effects: Sequence[e.Effect]) -> bool:
    """Whether the timer's column is written at all."""
    return any(isinstance(effect, e.SetTimer | e.ClearTimer) for effect in effects)


def timer_of(effects: Sequence[e.Effect]) -> datetime | None:
    """The timer that is set, if any."""
    return next((effect.due for effect in effects if isinstance(effect, e.SetTimer)), None)


def job_of(effect: e.Effect) -> tuple[JobKind, dict[str, Any]] | None:
    """Kind and payload of the job that an effect enqueues, if it is one."""
    match effect:
        case e.EnqueueInference(target):
            return JobKind.INFERENCE, {"target": target}
        case e.EnqueueExecution(proposal_id, digest, idempotent):
            return JobKind.EXECUTION, {"proposal_id": proposal_id, "digest": digest, "idempotent": idempotent}
        case e.EnqueueCleanup(task):
            return JobKind.CLEANUP, dict(task)
        case _:
            return None
