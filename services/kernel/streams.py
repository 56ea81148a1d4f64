"""The two streams of the house and how they are made: DOMAIN (facts, from the outboxes) and SESSIONS (agents'
events).

DOMAIN is made by one service only, whose Postgres counts its epochs; whoever finds it missing waits. A stream that
was lost and made anew has a new epoch, so that nobody takes its sequences for the old ones.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

from services.kernel import jetstream
from services.kernel.bus import Bus
from services.kernel.errors import Unavailable
from services.kernel.jetstream import Refused
from services.kernel.telemetry import get_logger

_log = get_logger("streams")
_PAUSE: Final = 0.5
DOMAIN: Final = "DOMAIN"
SESSIONS: Final = "SESSIONS"
KEPT_PER_SESSION: Final = 5_000
_DAY_NS: Final = 24 * 3600 * 1_000_000_000
_EPOCH: Final = "treadle-epoch"
_SHARED: Final[dict[str, Any]] = {
    "retention": "limits",
    "discard": "old",
    "storage": "file",
    "allow_direct": True,
    "max_consumers": 10_000,  # unset it is 1,000, and a hard wall
    "duplicate_window": 1_000_000_000,  # nothing here is told apart by message id
}


@dataclass(frozen=True, slots=True)
class StreamState:
    """What the leader says of a stream. `epoch` is 0 where none is kept."""

    epoch: int
    first_seq: int
    last_seq: int


async def state_of(bus: Bus, stream: str) -> StreamState | None:
    """The stream's state, from its leader; None when there is no such stream."""
    try:
        info = await jetstream.api(bus, f"STREAM.INFO.{stream}")
    except Refused as refused:
        if refused.code == jetstream.STREAM_NOT_FOUND:
            return None
        raise
    return _state(info)


async def ensure_domain(
    bus: Bus, next_epoch: Callable[[], Awaitable[int]], *, replicas: int = 1, days: int = 7
) -> StreamState:
    """Makes DOMAIN where it is missing, in the epoch that `next_epoch` counts. It is trimmed from its head only."""
    while True:
        state = await state_of(bus, DOMAIN)
        if state is not None:
            return state
        await _create(
            bus,
            DOMAIN,
            {
                "subjects": ["domain.>"],
                "num_replicas": replicas,
                "max_age": days * _DAY_NS,
                "allow_atomic": True,
                "metadata": {_EPOCH: str(await next_epoch())},
            },
        )


async def ensure_sessions(bus: Bus, *, replicas: int = 1) -> StreamState:
    """Makes SESSIONS where it is missing. Each append is republished to `live.session.>`."""
    while True:
        state = await state_of(bus, SESSIONS)
        if state is not None:
            return state
        await _create(
            bus,
            SESSIONS,
            {
                "subjects": ["session.>"],
                "num_replicas": replicas,
                "max_msgs_per_subject": KEPT_PER_SESSION,
                "republish": {"src": "session.>", "dest": "live.session.>"},
            },
        )


async def insist(make: Callable[[], Awaitable[StreamState]]) -> StreamState:
    """Tries until the leader answers: while a cluster starts, that may take a while."""
    while True:
        try:
            return await make()
        except (Unavailable, Refused) as fault:
            _log.warning("streams.wait", fault=str(fault))
            await asyncio.sleep(_PAUSE)


async def _create(bus: Bus, stream: str, config: dict[str, Any]) -> None:
    try:
        await jetstream.api(bus, f"STREAM.CREATE.{stream}", {"name": stream, **_SHARED, **config}, timeout=10)
    except Refused as refused:
        # Another replica was first, with its own epoch: read what there is.
        if refused.code != jetstream.STREAM_NAME_IN_USE:
            raise


def _state(info: dict[str, Any]) -> StreamState:
    state = info["state"]
    metadata = info["config"].get("metadata") or {}
    return StreamState(int(metadata.get(_EPOCH, "0")), int(state["first_seq"]), int(state["last_seq"]))
