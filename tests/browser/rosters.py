"""A roster with a worker in every state that there is, as the service would tell it."""

from __future__ import annotations

from typing import Any, Final

ENDS: Final = (
    ("succeeded", "completed", True, False),
    ("failed", "failed", True, True),
    ("failed", "timeout", True, True),
    ("failed", "budget_exhausted", False, False),
    ("failed", "launch_failed", False, False),
    ("failed", "result_too_large", False, False),
    ("cancelled", "cancelled", True, True),
    ("interrupted", "interrupted", False, False),
    ("interrupted", "runner_lost", True, True),
)
"""Status, reason, whether it has a result, whether that is partial."""

WORDS: Final = {
    "timeout": "Its time was up",
    "budget_exhausted": "was used up",
    "launch_failed": "could not be started",
    "result_too_large": "larger than can be kept",
    "runner_lost": "was lost",
}

_TIME: Final = "2026-01-02T03:04:05Z"


def roster(coordinator: str) -> dict[str, Any]:
    """Every end with its reason, and what has not ended: queued, running, asking, about to stop, partly reported."""
    workers = [
        _worker(coordinator, f"{status}-{reason.replace('_', '-')}", status, reason, has_result=has, partial=partial)
        for status, reason, has, partial in ENDS
    ]
    workers += [
        _worker(coordinator, "queued", "spawning"),
        _worker(coordinator, "at-work", "running", has_result=True),
        _worker(coordinator, "asks", "running", waiting=True),
        _worker(coordinator, "stopping", "running", cancel_requested=True),
        _worker(coordinator, "w" * 64, "running", kind="session", brief="שלום עולם 🧵 مرحبا " * 30),
    ]
    return {
        "coordinator_session_id": coordinator,
        "enabled": True,
        "note_count": 0,
        "threads": workers,
        "policy": {"budget_seconds": 600},
        "spent_seconds": 12,
        "spent_tokens": 3400,
    }


def _worker(coordinator: str, name: str, status: str, reason: str = "", **told: Any) -> dict[str, Any]:
    ended = reason != ""
    worker = {
        "name": name,
        "id": f"thr_{name}",
        "coordinator_session_id": coordinator,
        "kind": "subagent",
        "status": status,
        "reason": reason,
        "has_result": False,
        "partial": False,
        "brief": f"The brief of {name}",
        "ids": {"subagent_session_id": "" if status == "spawning" else coordinator},
        "note_count": 0,
        "result_length": 0,
        "result_version": 0,
        "waiting": False,
        "cancel_requested": False,
        "cancel_reason": "",
        "late": ended and reason != "completed",
        "create_time": _TIME,
    }
    if status != "spawning":
        worker["start_time"] = _TIME
    return worker | ({"end_time": _TIME} if ended else {}) | told
