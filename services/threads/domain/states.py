"""The 21 states of a thread and what they have in common (design/threads.md, section 1.1)."""

from __future__ import annotations

from enum import StrEnum


class State(StrEnum):
    """Values are the strings of REST and of the event log."""

    PROPOSED = "proposed"
    AWAITING_INFERENCE = "awaiting_inference"
    INFERRING_INTENT = "inferring_intent"
    INFERRING_CONTEXT = "inferring_context"
    INFERRING_ACTION = "inferring_action"
    AWAITING_INTENT_CONFIRMATION = "awaiting_intent_confirmation"
    AWAITING_CONTEXT_CONFIRMATION = "awaiting_context_confirmation"
    AWAITING_CONFIRMATION = "awaiting_confirmation"
    AWAITING_INTENT_CLARIFICATION = "awaiting_intent_clarification"
    AWAITING_CONTEXT_CLARIFICATION = "awaiting_context_clarification"
    AWAITING_ACTION_CLARIFICATION = "awaiting_action_clarification"
    AWAITING_REVIEW = "awaiting_review"
    AWAITING_REDIRECT = "awaiting_redirect"
    DONE_CLEANUP_UNSUCCESSFUL = "done_cleanup_unsuccessful"
    EXECUTING = "executing"
    CLEANING_UP = "cleaning_up"
    MONITORING = "monitoring"
    DONE = "done"
    DISMISSED = "dismissed"
    HANDED_OFF = "handed_off"
    DONE_CLEANUP_SUCCESSFUL = "done_cleanup_successful"


class Target(StrEnum):
    """What one inference is about, in the order in which a thread goes through them."""

    INTENT = "intent"
    CONTEXT = "context"
    ACTION = "action"


INFERRING = {
    Target.INTENT: State.INFERRING_INTENT,
    Target.CONTEXT: State.INFERRING_CONTEXT,
    Target.ACTION: State.INFERRING_ACTION,
}
CONFIRMATION = {
    Target.INTENT: State.AWAITING_INTENT_CONFIRMATION,
    Target.CONTEXT: State.AWAITING_CONTEXT_CONFIRMATION,
    Target.ACTION: State.AWAITING_CONFIRMATION,
}
CLARIFICATION = {
    Target.INTENT: State.AWAITING_INTENT_CLARIFICATION,
    Target.CONTEXT: State.AWAITING_CONTEXT_CLARIFICATION,
    Target.ACTION: State.AWAITING_ACTION_CLARIFICATION,
}
TARGET_OF = {state: target for family in (INFERRING, CONFIRMATION, CLARIFICATION) for target, state in family.items()}

TERMINAL = frozenset({State.DONE, State.DISMISSED, State.HANDED_OFF, State.DONE_CLEANUP_SUCCESSFUL})
WAIT = frozenset(
    {
        *CONFIRMATION.values(),
        *CLARIFICATION.values(),
        State.AWAITING_REVIEW,
        State.AWAITING_REDIRECT,
        State.DONE_CLEANUP_UNSUCCESSFUL,
    }
)
ACTIVE = frozenset(State) - TERMINAL - WAIT


def is_terminal(state: State) -> bool:
    """True for the four absorbing states; `monitoring` is not one of them."""
    return state in TERMINAL


def is_wait(state: State) -> bool:
    """True for the nine states in which a person is waited for."""
    return state in WAIT


def is_active(state: State) -> bool:
    """True for the eight states in which the service, a runner or children are at work."""
    return state in ACTIVE
