"""The refusals of planning; reasons are those of `error_reason.proto`."""

from __future__ import annotations

from services.kernel.errors import Conflict, Denied, EtagMismatch, Exhausted, NotAllowed, NotFound, TooLarge
from services.planning.domain import limits


def session_not_found(session_id: str) -> NotFound:
    """No such session for this tenant."""
    return NotFound("SESSION_NOT_FOUND", "there is no such session", session=session_id)


def session_deleted(session_id: str) -> NotAllowed:
    """Its workspace does not come again."""
    return NotAllowed("SESSION_DELETED", "this session is deleted", session=session_id)


def not_yours() -> Denied:
    """An agent and another session."""
    return Denied("NOT_YOURS", "an agent acts for the session of its own token alone")


def branch_forking() -> NotAllowed:
    """Nothing is changed in what is still being made."""
    return NotAllowed("BRANCH_FORKING", "this branch is still being made: try again in a moment", state="forking")


def plan_changed(version: int) -> Conflict:
    """The caller's indices may address other steps."""
    return Conflict("PLAN_CHANGED", "the plan has changed: read it again", version=version)


def etag_mismatch(version: int) -> EtagMismatch:
    """Somebody else was first."""
    return EtagMismatch("ETAG_MISMATCH", "it has changed: read it again", version=version)


def too_many_steps() -> Exhausted:
    """The plan would be too long."""
    most = limits.STEPS_MOST
    return Exhausted("TOO_MANY_STEPS", f"a plan may have {most} steps", limit=most)


def too_deep() -> NotAllowed:
    """The plan would be too deep."""
    most = limits.DEPTH_MOST
    return NotAllowed("TOO_DEEP", f"a step may have the depth {most}", limit=most)


def turn_in_progress(turn: int) -> NotAllowed:
    """The agent is at work."""
    return NotAllowed("TURN_IN_PROGRESS", f"turn {turn} is under way", turn=turn)


def turn_ended() -> NotAllowed:
    """An agent that comes too late."""
    return NotAllowed("TURN_ENDED", "the turn has ended: nothing was changed")


def turn_not_found(turn: int) -> NotFound:
    """No such number."""
    return NotFound("TURN_NOT_FOUND", f"there is no turn {turn} in this session", turn=turn)


def turn_stale(last: int) -> NotAllowed:
    """Turns begin in order, each once."""
    return NotAllowed(
        "TURN_STALE", "this turn's number or id belongs to another turn, or to an earlier time", last=last
    )


def restore_unavailable(turn: int) -> NotAllowed:
    """The live workspace is never shown instead: it has what later turns did (C2)."""
    return NotAllowed("RESTORE_UNAVAILABLE", f"what the workspace was after turn {turn} was not kept", turn=turn)


def plan_context_not_found() -> NotFound:
    """There was nothing to tell, or nobody asked."""
    return NotFound("PLAN_CONTEXT_NOT_FOUND", "the agent was told nothing of objective and plan in that turn")


def document_not_found(key: str) -> NotFound:
    """No such key."""
    return NotFound("DOCUMENT_NOT_FOUND", "there is no such document in this session", key=key)


def document_locked(key: str) -> NotAllowed:
    """People lock, agents obey."""
    return NotAllowed("DOCUMENT_LOCKED", "a person has locked this document", key=key)


def too_many_documents() -> Exhausted:
    """One more than there may be."""
    most = limits.DOCUMENTS_MOST
    return Exhausted("TOO_MANY_DOCUMENTS", f"a session may have {most} documents", limit=most)


def documents_too_large() -> TooLarge:
    """A whole workspace has to fit one message."""
    most = limits.DOCUMENTS_BYTES_MOST
    return TooLarge("DOCUMENTS_TOO_LARGE", f"a session's documents may have {most} bytes in all", limit=most)


def branch_not_found() -> NotFound:
    """The session is no branch."""
    return NotFound("BRANCH_NOT_FOUND", "this session is no branch")


def too_many_branches() -> Exhausted:
    """A conversation with too many of them."""
    most = limits.BRANCHES_MOST
    return Exhausted("TOO_MANY_BRANCHES", f"a conversation may have {most} sessions", limit=most)


def cherry_pick_refused(origin_id: str, cause: str) -> NotAllowed:
    """All or nothing: this step is why it is nothing."""
    return NotAllowed("CHERRY_PICK_REFUSED", f"nothing was taken over: {cause}", origin_id=origin_id, cause=cause)
