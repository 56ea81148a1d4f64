"""The catalogue of the 45 event kinds (design/threads.md, section 2.2). Reserved names exist and are
never emitted.
"""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    """What an event is; an unknown kind cannot be written or read."""

    # emitted
    INCITING_EVENT = "inciting_event"
    THREAD_CREATED = "thread_created"
    THREAD_DISMISSED = "thread_dismissed"
    INTENT_INFERRED = "intent_inferred"
    CONTEXT_INFERRED = "context_inferred"
    ACTION_INFERRED = "action_inferred"
    COMBINED_INFERRED_META = "combined_inferred_meta"
    ACTION_REDIRECTED = "action_redirected_with_feedback"
    EXECUTION_STARTED = "execution_started"
    EXECUTION_FINISHED = "execution_finished"
    SUBTHREADS_SPAWNED = "subthreads_spawned"
    GROUPS_SPAWNED = "groups_spawned"
    SUBTHREAD_TERMINAL_REPORTED = "subthread_terminal_reported"
    PARENT_FORCE_CLOSE = "parent_force_close"
    CONTEXT_ITEM_MOVED = "context_item_moved"
    GROUP_DELETED = "group_deleted"
    THREAD_RENAMED = "thread_renamed"
    LATER = "later"
    SOURCE_CLEANED_UP = "source_cleaned_up"
    CLEANUP_FAILED = "cleanup_failed"
    STATE_TRANSITION = "state_transition"
    AUTO_ADVANCE_DECISION = "auto_advance_decision"
    # reserved
    THREAD_COMPLETED = "thread_completed"
    THREAD_HANDED_OFF = "thread_handed_off"
    THREAD_ARCHIVED = "thread_archived"
    INTENT_CONFIRMED = "intent_confirmed"
    INTENT_CORRECTED = "intent_corrected"
    INTENT_PROVIDED = "intent_provided"
    CONTEXT_CONFIRMED = "context_confirmed"
    CONTEXT_EDITED = "context_edited"
    CONTEXT_PROVIDED = "context_provided"
    ACTION_CONFIRMED = "action_confirmed"
    ACTION_CORRECTED = "action_corrected"
    ACTION_PICKED = "action_picked"
    ACTION_APPROVED = "action_approved"
    ACTION_REJECTED = "action_rejected_with_feedback"
    INTENT_REDIRECTED = "intent_redirected_with_feedback"
    CONTEXT_REDIRECTED = "context_redirected_with_feedback"
    REVIEW_REDIRECTED = "review_redirected_with_feedback"
    CONTEXT_ADDED = "context_added"
    CONTEXT_REMOVED = "context_removed"
    ITEM_MOVED = "item_moved"
    BUDGET_WARNING = "budget_warning"
    LOOP_DETECTED = "loop_detected"
    ESCALATED_TO_USER = "escalated_to_user"


EMITTED = frozenset(list(Kind)[: list(Kind).index(Kind.THREAD_COMPLETED)])
RESERVED = frozenset(Kind) - EMITTED
