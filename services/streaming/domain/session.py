"""A session: a conversation with an agent, and what may be said when one is opened (design/streaming.md D1)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from services.kernel.errors import Invalid
from services.kernel.text import is_one_line

EXTERNAL: Final = "external"
"""The adapter of sessions that are driven from outside."""
THINKING = ("off", "minimal", "low", "medium", "high", "xhigh")
_ADAPTER = re.compile(r"[a-z0-9_-]{1,63}")
_PROVIDER = re.compile(r"[A-Za-z0-9_.:-]{0,128}")
_MODEL_MOST = 128
_TITLE_MOST = 200


class TurnState(StrEnum):
    """The state of a session's newest turn (D1.1)."""

    IDLE = "idle"
    RUNNING = "running"
    WAITING = "waiting"
    FAILED = "failed"


class Agent(StrEnum):
    """Whether an agent is there: a job is queued or claimed (`starting`), or a runner has attached with it."""

    NONE = "none"
    STARTING = "starting"
    LIVE = "live"


@dataclass(frozen=True, slots=True)
class Session:
    """`generation` is the first part of its stream's ids; 0 until its stream was opened."""

    tenant: str
    id: str
    state: TurnState
    title: str
    adapter: str
    provider: str
    model: str
    thinking: str
    version: int
    generation: int
    created_at: datetime
    updated_at: datetime
    agent: Agent = Agent.NONE
    started: bool = False
    """Whether an agent was ever started: the first one begins no new generation."""
    job_id: str = ""
    turn_id: str = ""
    outcome: str = ""
    code: str = ""
    agent_state: str = ""
    """Digest of the state to go on from; empty: none."""
    turn_number: int = 0
    """The newest turn's number; one that never began counts."""
    starting: str = ""
    """The turn that planning is asked about right now; empty: none."""
    forked_from: str = ""
    fork_turn: int = 0
    forking: bool = False
    """It is being made out of another one."""
    coordinator: str = ""
    """The session that this one works for; empty: none."""

    @property
    def external(self) -> bool:
        """Whether an outside agent drives its turns: no runner is ever asked for."""
        return self.adapter == EXTERNAL


def new_session(
    tenant: str, session_id: str, now: datetime, *, adapter: str, provider: str, model: str, thinking: str, title: str
) -> Session:
    """An idle session. Invalid names the field and its limit; thinking defaults to medium and is never forced off."""
    if _ADAPTER.fullmatch(adapter) is None:
        raise _invalid("adapter", "adapter must match [a-z0-9_-]{1,63}")
    if _PROVIDER.fullmatch(provider) is None:
        raise _invalid("provider", "provider must match [A-Za-z0-9_.:-]{1,128}")
    if len(model) > _MODEL_MOST or not model.isprintable():
        raise _invalid("model", f"model must be at most {_MODEL_MOST} printable characters")
    check_title(title)
    thinking = thinking or "medium"
    if thinking not in THINKING:
        raise _invalid("thinking", f"thinking must be one of {', '.join(THINKING)}")
    return Session(tenant, session_id, TurnState.IDLE, title, adapter, provider, model, thinking, 1, 0, now, now)


def check_title(title: str) -> None:
    """Invalid where it is no title."""
    if len(title) > _TITLE_MOST or not is_one_line(title):
        raise _invalid("title", f"title must be one line of at most {_TITLE_MOST} printable characters")


def _invalid(field: str, message: str) -> Invalid:
    return Invalid("INVALID_ARGUMENT", message, field=field)
