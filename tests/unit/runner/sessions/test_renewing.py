"""An agent's token is renewed in time; where it cannot be, the agent goes at its next pause."""

from __future__ import annotations

import asyncio

from services.kernel.errors import Unavailable
from services.runner.application.sessions.renewing import keep_renewed


async def test_a_token_is_asked_for_again_and_again_and_taken_where_there_is_one() -> None:
    answers: list[str | Exception] = ["t-1", Unavailable("UNIMPLEMENTED", "an older service"), "", "t-2"]
    taken, gone, over = list[str](), list[int](), asyncio.Event()

    async def ask() -> str:
        if not answers:
            over.set()
            await asyncio.Event().wait()
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def take(token: str) -> None:
        taken.append(token)

    keeping = asyncio.create_task(keep_renewed(ask, take, lambda: gone.append(len(taken)), 0.01))
    async with asyncio.timeout(30):
        await over.wait()
    keeping.cancel()
    await asyncio.gather(keeping, return_exceptions=True)
    assert (taken, gone) == (["t-1", "t-2"], [1])
