"""How a turn begins, whoever drives it: when it may, and what is written then. Functions over `Work`, like `story`."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from services.kernel import frames
from services.kernel.errors import Invalid, NotAllowed, TooLarge
from services.streaming.application import story
from services.streaming.application.work import Turn, Work
from services.streaming.domain import turns
from services.streaming.domain.errors import external_session, session_forking
from services.streaming.domain.session import Agent, Session, TurnState

TEXT_MOST = 32_000
_UNCLAIMED = 1e9
"""Seconds; here a job that nobody claimed yet is as good as a live one."""


def check_text(text: str) -> None:
    """Invalid or TooLarge where a person's words cannot be an event and a message."""
    if not text.strip():
        raise Invalid("INVALID_ARGUMENT", "text must not be empty", field="text")
    if "\0" in text:
        raise Invalid("INVALID_ARGUMENT", "text must not contain NUL", field="text")
    if len(text.encode()) > TEXT_MOST or len(frames.line_of_json({"text": text})) > frames.MOST_BYTES:
        raise TooLarge("VALUE_TOO_LARGE", f"text must be at most {TEXT_MOST} bytes", field="text", limit=TEXT_MOST)


def check_ours(session: Session) -> None:
    """NotAllowed EXTERNAL_SESSION where an outside agent drives the session."""
    if session.external:
        raise external_session()


def check_free(session: Session) -> None:
    """NotAllowed where no turn may begin: one is open, or the session is half of a branch."""
    if session.forking:
        raise session_forking()
    if session.starting:
        raise NotAllowed("TURN_RUNNING", "a turn is starting", state="starting", turn=session.starting)
    if session.state in turns.UNDER_WAY:
        message = "a turn is under way: steer or abort it"
        raise NotAllowed("TURN_RUNNING", message, state=session.state, turn=session.turn_id)


async def begin(work: Work, session: Session, turn_id: str, text: str, by: str, now: datetime) -> Session:
    """The next turn runs."""
    session = await with_agent(work, replace(session, turn_number=session.turn_number + 1), now, fresh=True)
    begun = _running(session, turn_id)
    await work.save(begun, now)
    await work.begin_turn(begun, text, by, now)
    return await _told(work, begun, session, text, by, now)


async def begin_reserved(work: Work, session: Session, turn: Turn, by: str, now: datetime) -> Session:
    """A turn that started runs."""
    session = await with_agent(work, session, now, fresh=True)
    begun = _running(session, turn.id)
    await work.save(begun, now)
    await work.run_turn(begun)
    return await _told(work, begun, session, turn.text, by, now)


async def not_started(work: Work, session: Session, by: str, now: datetime) -> None:
    """The turn that started has failed, and its row says so: no agent and no reader heard its words."""
    failed = replace(
        session, state=TurnState.FAILED, turn_id=session.starting, starting="", outcome="", code="start_failed"
    )
    await work.save(failed, now)
    await work.say(failed, "turn", {"state": failed.state, "turn_id": failed.turn_id, "code": failed.code})
    await work.fact(failed, "turn", by, now, before=session.state)


async def with_agent(work: Work, session: Session, now: datetime, *, fresh: bool = False) -> Session:
    """The session with an agent that is there or wanted, where one of ours drives it. One whose lease has run out is
    not there. `fresh`: what no agent has taken before is not wanted any more."""
    if session.external:
        return session
    if fresh:
        await work.drop_commands(session)
    if session.agent is not Agent.NONE and await work.job_over(session.job_id, _UNCLAIMED):
        await work.end_job(session.job_id, "failed", "runner_lost")
        session = replace(session, agent=Agent.NONE, job_id="")
    if session.agent is Agent.NONE:
        session = await story.start_agent(work, session, now)
    return session


def _running(session: Session, turn_id: str) -> Session:
    to = turns.after(session.state, turns.Prompt())
    return replace(session, state=to, turn_id=turn_id, outcome="", code="")


async def _told(work: Work, begun: Session, before: Session, text: str, by: str, now: datetime) -> Session:
    """Its agent, where one of ours is there, gets the prompt."""
    if not begun.external:
        await work.command(begun, "prompt", {"text": text}, now)
    await work.say(begun, "prompt", {"text": text})
    await work.say(begun, "turn", {"state": begun.state, "turn_id": begun.turn_id})
    await work.fact(begun, "turn", by, now, before=before.state)
    return begun
