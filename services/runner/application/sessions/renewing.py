"""A new token for an agent that lives longer than the one it has (design/gateway.md): asked of its session's owner."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from services.kernel import telemetry
from services.kernel.errors import Refusal

_log = telemetry.get_logger("runner.session")
OLD_SECONDS: Final = 6 * 3600.0
"""The token of an agent is good for twelve hours: it is renewed after half of that."""
_AGAIN_SECONDS: Final = 60.0


async def keep_renewed(
    ask: Callable[[], Awaitable[str]],
    take: Callable[[str], Awaitable[None]],
    otherwise: Callable[[], None],
    every: float = OLD_SECONDS,
) -> None:
    """Until cancelled: `ask`s after `every` seconds and has the token `take`n. Where there is none it is asked for
    again soon, and `otherwise` is called each time: the agent goes at its next pause, the next one gets a token anyway.
    """
    wait = every
    while True:
        await asyncio.sleep(wait)
        try:
            token = await ask()
        except Refusal as refusal:
            _log.warning("session.token_not_renewed", reason=refusal.reason)
            otherwise()
            wait = min(every, _AGAIN_SECONDS)
            continue
        if token:
            await take(token)
        wait = every
