"""Asks the neighbours what an agent is to know at the start of a turn. Who does not answer in time is gone on without
(design/coordination.md C.6)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final, Protocol

from services.kernel import telemetry
from services.kernel.errors import Refusal
from services.runner.domain.context import joined

_log = telemetry.get_logger("runner.context")
DEADLINE_SECONDS: Final = 2.0


class ContextSource(Protocol):
    """A neighbour that has something to say."""

    async def compose(self, session: str, turn: str, token: str) -> str:
        """For the turn of the session (its id), asked with the session's token; empty: nothing. Raises a refusal."""
        ...


class Contexts:
    """All of them at once, each with the same deadline; the order is theirs."""

    def __init__(self, sources: Sequence[ContextSource] = (), deadline: float = DEADLINE_SECONDS) -> None:
        self._sources = sources
        self._deadline = deadline

    async def compose(self, session: str, turn: str, token: str) -> str:
        """Never raises."""
        return joined(await asyncio.gather(*(self._of(source, session, turn, token) for source in self._sources)))

    async def _of(self, source: ContextSource, session: str, turn: str, token: str) -> str:
        try:
            async with asyncio.timeout(self._deadline):
                return await source.compose(session, turn, token)
        except TimeoutError:
            _log.warning("context.late", session=session, turn=turn, source=type(source).__name__)
        except Refusal as refusal:
            _log.warning("context.refused", session=session, turn=turn, reason=refusal.reason)
        return ""
