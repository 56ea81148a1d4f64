"""When an agent leaves: asked while idle, for good as soon as it is, and never against its owner."""

from __future__ import annotations

import asyncio

import pytest

from services.kernel.errors import NotAllowed, Unavailable
from services.runner.application.sessions.leaving import Leaving


class Owner:
    """Says what the test says, each time the next; then yes."""

    def __init__(self, *answers: Exception) -> None:
        self.answers = list(answers)
        self.asked = 0

    async def leave(self) -> None:
        self.asked += 1
        if self.answers:
            raise self.answers.pop(0)


async def left(leaving: Leaving, owner: Owner) -> None:
    async with asyncio.timeout(60):
        await leaving.when_idle(owner.leave)


async def stays(leaving: Leaving, owner: Owner) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.15):
            await leaving.when_idle(owner.leave)


async def test_asked_in_a_turn_it_stays_and_is_idle_for_nothing() -> None:
    leaving, owner = Leaving(), Owner()
    leaving.idle()
    leaving.busy()
    leaving.once()
    assert leaving.idle_seconds == 0
    await stays(leaving, owner)
    assert owner.asked == 0


async def test_asked_in_a_pause_it_leaves() -> None:
    leaving, owner = Leaving(), Owner()
    leaving.idle()
    await asyncio.sleep(0.01)
    assert leaving.idle_seconds > 0
    leaving.once()
    assert leaving.idle_seconds == 0
    await left(leaving, owner)


@pytest.mark.parametrize("answer", [NotAllowed("TURN_RUNNING", "a turn"), Unavailable("AWAY", "not now")])
async def test_an_owner_that_does_not_agree_is_asked_once_for_each_time(answer: Exception) -> None:
    leaving, owner = Leaving(), Owner(answer)
    leaving.idle()
    leaving.once()
    await stays(leaving, owner)
    assert owner.asked == 1
    leaving.once()
    await left(leaving, owner)


async def test_for_good_it_leaves_as_soon_as_the_turn_is_over() -> None:
    leaving, owner = Leaving(), Owner(NotAllowed("TURN_RUNNING", "a turn"))
    leaving.busy()
    leaving.for_good()
    await stays(leaving, owner)
    leaving.idle()
    await left(leaving, owner)
    assert owner.asked == 2


async def test_for_good_an_owner_that_is_away_keeps_nobody() -> None:
    leaving, owner = Leaving(), Owner(Unavailable("AWAY", "not now"))
    leaving.idle()
    leaving.for_good()
    await left(leaving, owner)
    assert owner.asked == 1
