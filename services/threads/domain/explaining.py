"""What a thread waits for, on whom, since when, and which single calls would move it (design/threads.md,
section 0.5).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from services.threads.domain.states import INFERRING, TERMINAL, State
from services.threads.domain.thread import Thread

_WAYS_OUT: Final = ("dismiss", "hand_off")
_MOVES: Final[dict[State, tuple[str, ...]]] = {
    State.PROPOSED: ("dismiss",),
    State.AWAITING_INFERENCE: ("set_action_proposal", "dismiss"),
    State.INFERRING_INTENT: ("dismiss",),
    State.INFERRING_CONTEXT: ("dismiss",),
    State.INFERRING_ACTION: ("dismiss",),
    State.AWAITING_INTENT_CONFIRMATION: ("accept", "edit", "redirect", "redirect_action", *_WAYS_OUT),
    State.AWAITING_CONTEXT_CONFIRMATION: ("accept", "edit", "redirect", "redirect_action", *_WAYS_OUT),
    State.AWAITING_CONFIRMATION: ("accept", "edit", "set_action_proposal", "redirect_action", "reject", *_WAYS_OUT),
    State.AWAITING_INTENT_CLARIFICATION: ("provide", *_WAYS_OUT),
    State.AWAITING_CONTEXT_CLARIFICATION: ("provide", *_WAYS_OUT),
    State.AWAITING_ACTION_CLARIFICATION: ("provide", "set_action_proposal", *_WAYS_OUT),
    State.AWAITING_REVIEW: ("accept_review", "redirect_action", *_WAYS_OUT),
    State.AWAITING_REDIRECT: ("redirect_action", "provide", *_WAYS_OUT),
    State.DONE_CLEANUP_UNSUCCESSFUL: ("retry_cleanup", "accept_cleanup_failure", *_WAYS_OUT),
    State.EXECUTING: ("force_close",),
    State.CLEANING_UP: ("dismiss",),
    State.MONITORING: (*_WAYS_OUT, "force_close"),
}
_SAYS: Final[dict[State, str]] = {
    State.PROPOSED: "Written down; nothing was started.",
    State.AWAITING_INFERENCE: "Waits for a runner to work out the {target}.",
    State.INFERRING_INTENT: "A runner works out what is wanted.",
    State.INFERRING_CONTEXT: "A runner gathers what is needed.",
    State.INFERRING_ACTION: "A runner works out what to do.",
    State.AWAITING_INTENT_CONFIRMATION: "Waits for a person to confirm the intent.",
    State.AWAITING_CONTEXT_CONFIRMATION: "Waits for a person to confirm the context.",
    State.AWAITING_CONFIRMATION: "Waits for a person to approve {action}.",
    State.AWAITING_INTENT_CLARIFICATION: "Waits for a person to say what is wanted.",
    State.AWAITING_CONTEXT_CLARIFICATION: "Waits for a person to say what is needed.",
    State.AWAITING_ACTION_CLARIFICATION: "Waits for a person to say what to do.",
    State.AWAITING_REVIEW: "Done by {action}; waits for a person to look at the result.",
    State.AWAITING_REDIRECT: "{action} failed ({reason}); waits for a person to redirect.",
    State.DONE_CLEANUP_UNSUCCESSFUL: "The source could not be cleaned up ({reason}); waits for a person.",
    State.EXECUTING: "A runner executes {action}.",
    State.CLEANING_UP: "The source is being cleaned up.",
    State.MONITORING: "Waits for {children} open sub-threads.",
    State.DONE: "Done.",
    State.DISMISSED: "Dismissed.",
    State.HANDED_OFF: "Handed off.",
    State.DONE_CLEANUP_SUCCESSFUL: "Done, and its source cleaned up.",
}
_BY_RUNNER: Final = frozenset({State.AWAITING_INFERENCE, *INFERRING.values(), State.EXECUTING, State.CLEANING_UP})


@dataclass(frozen=True)
class Explanation:
    """`waits_on` is person, runner, children, clock or nothing; `moves` are names of calls on REST."""

    state: State
    summary: str
    waits_on: str
    since: datetime
    moves: tuple[str, ...]


def explain(thread: Thread) -> Explanation:
    """Total over all states; without a proposal there is nothing to approve, edit or reject."""
    proposal = thread.proposal
    summary = _SAYS[thread.state].format(
        target=thread.target or "matter",
        action=proposal.name or "the proposal" if proposal else "an action, but there is none",
        reason=thread.reason or "no reason given",
        children=thread.open_children,
    )
    moves = _MOVES.get(thread.state, ())
    if thread.state is State.AWAITING_CONFIRMATION and proposal is None:
        moves = tuple(move for move in moves if move not in ("accept", "edit", "reject"))
    return Explanation(thread.state, summary, _waits_on(thread.state), thread.since, moves)


def _waits_on(state: State) -> str:
    if state in TERMINAL:
        return "nothing"
    if state in _BY_RUNNER:
        return "runner"
    if state is State.MONITORING:
        return "children"
    return "clock" if state is State.PROPOSED else "person"
