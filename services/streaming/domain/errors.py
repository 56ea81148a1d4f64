"""The refusals of streaming; reasons are those of `error_reason.proto`."""

from __future__ import annotations

from services.kernel.errors import (
    AlreadyExists,
    Conflict,
    Denied,
    Exhausted,
    Invalid,
    NotAllowed,
    NotFound,
    Unavailable,
)


def session_not_found(session_id: str) -> NotFound:
    """No such session for this tenant."""
    return NotFound("SESSION_NOT_FOUND", "there is no such session", session=session_id)


def attach_fenced(generation: int) -> Conflict:
    """Another runner holds the session, or a newer generation is in force."""
    return Conflict("ATTACH_FENCED", "another runner has taken this session", generation=generation)


def attach_again() -> Unavailable:
    """The runner still holds the session, but not by this attachment."""
    return Unavailable("ATTACH_AGAIN", "attach again with the last epoch")


def lease_lost(job_id: str) -> Conflict:
    """The caller does not hold the session any more."""
    return Conflict("LEASE_LOST", "the lease of this job is not yours any more: drop the work", job_id=job_id)


def session_deleted() -> NotAllowed:
    """Nothing is said of a session any more."""
    return NotAllowed("SESSION_DELETED", "this session is deleted")


def external_session() -> NotAllowed:
    """An outside agent drives it."""
    return NotAllowed("EXTERNAL_SESSION", "an outside agent drives this session: it cannot be prompted from here")


def not_external(adapter: str) -> NotAllowed:
    """One of our own adapters drives it."""
    return NotAllowed("NOT_EXTERNAL", "turns of this session are begun by prompts", adapter=adapter)


def session_forking() -> NotAllowed:
    """Half of a branch."""
    return NotAllowed("SESSION_FORKING", "this session is being made out of another one")


def session_exists(session_id: str) -> AlreadyExists:
    """The id is another session's."""
    return AlreadyExists("SESSION_EXISTS", "a session with this id was opened otherwise", session=session_id)


def turn_not_found() -> NotFound:
    """No such turn in this session."""
    return NotFound("TURN_NOT_FOUND", "there is no such turn in this session")


def not_yours(session_id: str) -> Denied:
    """An agent's token speaks for one session, this one."""
    return Denied("NOT_YOURS", "an agent acts for the session of its own token alone", session=session_id)


def planning_unavailable() -> Unavailable:
    """No turn begins without its snapshot."""
    return Unavailable("PLANNING_UNAVAILABLE", "planning cannot be asked right now, and no turn begins without it")


def not_forking() -> NotAllowed:
    """It is no unfinished branch."""
    return NotAllowed("NOT_FORKING", "this session is no unfinished branch")


def reader_too_slow() -> Exhausted:
    """A reader did not keep up; its last id is good."""
    return Exhausted("READER_TOO_SLOW", "the reader did not keep up: come back with the last id")


def invalid_event(message: str, field: str) -> Invalid:
    """An agent's event that is not of the named set, or not well formed."""
    return Invalid("INVALID_EVENT", message, field=field)


def log_unavailable() -> Unavailable:
    """The log cannot take or give events now."""
    return Unavailable("LOG_UNAVAILABLE", "the session's log cannot be reached right now")
