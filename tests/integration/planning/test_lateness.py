"""A turn that is over in streaming, and whose end planning has not heard of, holds nobody up (P.1)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from services.kernel.clock import SystemClock
from services.kernel.errors import Unavailable
from services.kernel.postgres import Database
from services.planning.adapters.work import PostgresWork
from services.planning.application.hearing import hear
from tests.integration.planning.client import Planning, refused, texts
from tests.integration.planning.conftest import Forks
from tests.integration.planning.test_snapshots import end

Does = Callable[[Planning, str], Awaitable[object]]


async def _reversed(planning: Planning, chat: str) -> object:
    ids = [one.id for one in (await planning.plan(chat)).steps]
    return await planning.reorder(chat, ids[::-1])


async def _picked(planning: Planning, chat: str) -> object:
    branch = (await planning.branch(chat, 0)).session_id
    moved = await planning.move(branch, 2, after_index=0)
    return await planning.pick(chat, branch, moved.steps[0].origin_id)


COMMANDS: dict[str, Does] = {
    "move": lambda planning, chat: planning.move(chat, 2, after_index=0),
    "reorder": _reversed,
    "cherry-pick": _picked,
    "branch": lambda planning, chat: planning.branch(chat, 1, fork=True),
    "restore": lambda planning, chat: planning.restore(chat, 1),
}


@pytest.fixture
async def at_work(planning: Planning, chat: str) -> str:
    """Turn 1 of `chat`, under way; a plan of two."""
    await planning.add(chat, "a", "b")
    return await planning.begin(chat, 1)


@pytest.mark.parametrize("outcome", ["ok", "aborted", "runner_lost"])
@pytest.mark.parametrize("name", COMMANDS)
async def test_what_a_turn_forbids_is_done_once_streaming_says_that_it_is_over(
    planning: Planning, chat: str, at_work: str, forks: Forks, database: Database, name: str, outcome: str
) -> None:
    forks.turns.outcomes[at_work] = outcome
    await COMMANDS[name](planning, chat)
    [turn] = await planning.turns(chat)
    assert (turn.running, turn.outcome) == (False, outcome)
    assert forks.turns.asked == [at_work]
    [caller] = forks.turns.callers
    assert (caller.tenant, caller.kind, caller.subject) == ("acme", "service", "planning")
    async with database.transaction() as tx:  # the fact comes after all
        payload = {"kind": "turn", "session_id": chat, "to": "idle", "turn_id": at_work, "outcome": outcome}
        await hear(PostgresWork(tx), SystemClock(), "acme", payload)
    assert await planning.turns(chat) == [turn]
    async with refused("TURN_ENDED"):
        await planning.agent(chat).add(chat, "late")


@pytest.mark.parametrize("name", COMMANDS)
async def test_a_turn_that_is_under_way_in_truth_forbids_it(
    planning: Planning, chat: str, at_work: str, forks: Forks, name: str
) -> None:
    forks.turns.outcomes[at_work] = ""
    before = await planning.plan(chat)
    async with refused("TURN_IN_PROGRESS"):
        await COMMANDS[name](planning, chat)
    assert forks.turns.asked == [at_work]
    assert (await planning.turns(chat))[0].running
    assert await planning.plan(chat) == before


async def test_where_streaming_cannot_tell_the_refusal_stands(
    planning: Planning, chat: str, at_work: str, forks: Forks
) -> None:
    async with refused("TURN_IN_PROGRESS"):
        await planning.move(chat, 2, after_index=0)  # it knows no such turn
    forks.turns.refusal = Unavailable("AWAY", "away")
    async with refused("TURN_IN_PROGRESS"):
        await planning.move(chat, 2, after_index=0)
    forks.turns.refusal = None
    forks.turns.outcomes[at_work] = "ok"
    forks.turns.free.clear()
    async with refused("TURN_IN_PROGRESS"):
        await planning.move(chat, 2, after_index=0)  # it hangs, and is not waited for
    forks.turns.free.set()
    assert texts(await planning.move(chat, 2, after_index=0)) == ["b", "a"]


async def test_no_lock_is_held_while_streaming_is_asked(
    planning: Planning, chat: str, at_work: str, forks: Forks
) -> None:
    forks.turns.outcomes[at_work] = "ok"
    forks.turns.free.clear()
    moving = asyncio.create_task(planning.move(chat, 2, after_index=0))
    await asyncio.wait_for(forks.turns.held.wait(), 30)
    second = await planning.begin(chat, 2)
    forks.turns.free.set()
    async with refused("TURN_IN_PROGRESS") as caught:
        await moving
    assert caught.value.metadata == {"turn": "2"}
    assert [(one.turn_id, one.running) for one in await planning.turns(chat)] == [(at_work, False), (second, True)]


async def test_streaming_is_asked_by_nothing_else(
    planning: Planning, chat: str, at_work: str, forks: Forks, database: Database
) -> None:
    """Least of all by BeginTurn, which streaming waits for: calls between services go in no circle."""
    forks.turns.outcomes[at_work] = "ok"
    agent = planning.agent(chat)
    await planning.begin(chat, 1, at_work)
    await planning.begin(chat, 2)
    await agent.compose(chat)
    await agent.move(chat, 1, after_index=2)
    await planning.toggle(chat, 1)
    await planning.aim(chat, "goal")
    await planning.put(chat, "notes", "x")
    await planning.lock(chat, "notes")
    await planning.branch(chat, 0)
    await planning.restore(chat, 1)
    async with refused("TURN_NOT_FOUND"):
        await planning.restore(chat, 3)
    await end(database, chat)
    await planning.move(chat, 1, after_index=2)
    async with refused("TURN_ENDED"):
        await agent.add(chat, "late")
    assert forks.turns.asked == []
