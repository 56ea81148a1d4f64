"""The 20 triggers of design/threads.md section 1.2 and the six that section 0.2 adds."""

from __future__ import annotations

from enum import StrEnum


class Trigger(StrEnum):
    """What moves a thread; the value is what the event log carries."""

    BEGIN_INFERENCE = "begin_inference"
    INFERENCE_DONE = "inference_done"
    INFERENCE_FAILED = "inference_failed"
    CONFIRMED = "confirmed"
    EDITED = "edited"
    REDIRECTED = "redirected"
    PROVIDED = "provided"
    REJECTED = "rejected"
    EXECUTE = "execute"
    EXECUTION_DONE = "execution_done"
    EXECUTION_FAILED = "execution_failed"
    REVIEW_ACCEPTED = "review_accepted"
    DISMISSED_BY_USER = "dismissed_by_user"
    TIMEOUT = "timeout"
    PARENT_FORCE_CLOSE = "parent_force_close"
    CLEANUP_REQUESTED = "cleanup_requested"
    CLEANUP_SUCCEEDED = "cleanup_succeeded"
    CLEANUP_FAILED = "cleanup_failed"
    RETRY_CLEANUP = "retry_cleanup"
    ACCEPT_CLEANUP_FAILURE = "accept_cleanup_failure"
    # additions of section 0.2
    INFERENCE_CLAIMED = "inference_claimed"
    INFERENCE_LOST = "inference_lost"
    INFERENCE_REFUSED = "inference_refused"
    ACTION_PICKED = "action_picked"
    HAND_OFF = "hand_off"
    CHILDREN_SPAWNED = "children_spawned"


JOB_DRIVEN = frozenset(
    {
        Trigger.INFERENCE_CLAIMED,
        Trigger.INFERENCE_DONE,
        Trigger.INFERENCE_FAILED,
        Trigger.INFERENCE_LOST,
        Trigger.EXECUTION_DONE,
        Trigger.EXECUTION_FAILED,
        Trigger.CLEANUP_SUCCEEDED,
        Trigger.CLEANUP_FAILED,
    }
)
"""Triggers fired by the job itself, whose row is therefore settled by its own call and never cancelled."""
