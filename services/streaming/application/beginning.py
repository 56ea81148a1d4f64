"""How a turn begins, whoever drives it: when it may, and what is written then. Functions over `Work`, like `story`."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from services.kernel import frames
from services.kernel.errors import Invalid, NotAllowed, TooLarge
from services.streaming.application.work import Work
from services.streaming.domain import turns
from services.streaming.domain.errors import external_session, session_forking
from services.streaming.domain.session import Session

TEXT_MOST = 32_000


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
    """The next turn runs; its agent, where one of ours is there, gets the prompt."""
    to = turns.after(session.state, turns.Prompt())
    begun = replace(session, state=to, turn_id=turn_id, turn_number=session.turn_number + 1, outcome="", code="")
    await work.save(begun, now)
    await work.begin_turn(begun, text, by, now)
    if not begun.external:
        await work.command(begun, "prompt", {"text": text}, now)
    await work.say(begun, "prompt", {"text": text})
    await work.say(begun, "turn", {"state": to, "turn_id": turn_id})
    await work.fact(begun, "turn", by, now, before=session.state)
    return begun
