"""Facts out, for feeds; facts in, from streaming: opened, ended, deleted; each takes effect once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import orjson
import pytest

from services.kernel import outbox, streams
from services.kernel.bus import Bus
from services.kernel.errors import Refusal
from services.kernel.ids import new_id
from services.kernel.postgres import Database
from services.kernel.relay import Relay
from tests.conftest import MakeDatabase
from tests.integration.planning.client import Planning, refused, texts
from tests.integration.planning.conftest import StartReplica

Tell = Callable[..., Awaitable[None]]


@pytest.fixture
async def domain(bus: Bus) -> None:
    """The stream of facts, which streaming makes."""

    async def epoch() -> int:
        return 1

    await streams.ensure_domain(bus, epoch, replicas=1, days=1)


@pytest.fixture
async def tell(domain: None, bus: Bus, make_database: MakeDatabase) -> Any:
    """Publishes a fact of type `session` as streaming does."""
    database = await Database.open(await make_database("streaming"), "streaming")
    relay = asyncio.create_task(Relay(database, bus, "streaming").run())

    async def say(session: str, kind: str, event_id: str = "", **more: str) -> None:
        event_id = event_id or new_id("evt")
        payload = {"event_id": event_id, "session_id": session, "kind": kind, "actor": "user:ada", **more}
        async with database.transaction() as tx:
            await outbox.enqueue(
                tx,
                tenant="acme",
                scope=session,
                service="streaming",
                type="session",
                event_id=event_id,
                payload=payload,
            )
        await bus.ping(outbox.wake_subject("streaming"))

    yield say
    relay.cancel()
    await asyncio.wait({relay})
    await database.close()


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    """Waits for it."""
    async with asyncio.timeout(60):
        while not await holds():
            await asyncio.sleep(0.02)


async def test_a_session_that_is_opened_has_a_workspace(domain: None, planning: Planning, tell: Tell) -> None:
    session = new_id("ses")
    await tell(session, "created")

    async def there() -> bool:
        try:
            await planning.plan(session)
        except Refusal:
            return False
        return True

    await until(there)


async def test_a_turn_that_is_over_ends_here_and_its_agent_is_refused(planning: Planning, tell: Tell) -> None:
    chat = await planning.open()
    turn_id = await planning.begin(chat, 1)
    await tell(chat, "turn", to="waiting", turn_id=turn_id)
    await tell(chat, "turn", to="idle", turn_id=turn_id, outcome="ok")

    async def over() -> bool:
        return not (await planning.turns(chat))[0].running

    await until(over)
    async with refused("TURN_ENDED"):
        await planning.agent(chat).add(chat, "late")
    assert (await planning.turns(chat))[0].outcome == "ok"


async def test_a_late_end_does_not_end_the_turn_after_it(planning: Planning, tell: Tell) -> None:
    chat = await planning.open()
    first = await planning.begin(chat, 1)
    await planning.begin(chat, 2)
    await tell(chat, "turn", to="failed", turn_id=first, outcome="runner_lost")

    async def known() -> bool:
        return (await planning.turns(chat))[0].outcome == "runner_lost"

    await until(known)
    assert (await planning.turns(chat))[1].running
    await planning.agent(chat).add(chat, "still at work")


async def test_a_turn_whose_end_was_heard_first_does_not_begin(planning: Planning, tell: Tell) -> None:
    chat, turn_id = await planning.open(), new_id("trn")
    await tell(chat, "turn", to="failed", turn_id=turn_id, outcome="start_failed")

    async def refuses() -> bool:
        try:
            await planning.begin(chat, 1, turn_id)
        except Refusal as refusal:
            return refusal.reason == "TURN_ENDED"
        return True

    await asyncio.sleep(0.1)
    await until(refuses)


async def test_a_deleted_session_is_gone_and_stays_so(planning: Planning, tell: Tell) -> None:
    chat = await planning.open()
    await planning.add(chat, "x")
    event_id = new_id("evt")
    await tell(chat, "deleted", event_id)

    async def gone() -> bool:
        try:
            await planning.plan(chat)
        except Refusal as refusal:
            return refusal.reason == "SESSION_NOT_FOUND"
        return False

    await until(gone)
    await tell(chat, "created")
    other = await planning.open()
    await tell(other, "deleted")
    async with refused("SESSION_DELETED"):
        await planning.open(chat)


async def test_what_happens_is_told_in_order(domain: None, start_replica: StartReplica, database: Database) -> None:
    planning = await start_replica()
    chat = await planning.open()
    await planning.aim(chat, "goal")
    await planning.add(chat, "a")
    await planning.put(chat, "notes", "x")
    await planning.begin(chat, 1)
    branch = (await planning.branch(chat, 0)).session_id
    async with database.connection() as tx:
        rows = await tx.raw.fetch("SELECT scope, type, payload FROM outbox ORDER BY id")
    told = [orjson.loads(row["payload"]) for row in rows]
    assert {(row["scope"], row["type"]) for row in rows} == {(chat, "plan")}
    assert [(one["kind"], one["version"], one["turn"], one["document"], one["state"]) for one in told] == [
        ("objective", 0, 0, "", ""),
        ("plan", 1, 0, "", ""),
        ("document", 1, 0, "notes", ""),
        ("turn", 1, 1, "", ""),
        ("branch", 0, 0, "", "forking"),
        ("branch", 0, 0, "", "ready"),
    ]
    assert told[-1]["branch_session_id"] == branch
    assert told[0]["actor"] == "user:ada"

    async def sent() -> bool:
        async with database.connection() as tx:
            left: int = await tx.raw.fetchval("SELECT count(*) FROM outbox WHERE sent_seq IS NULL")
        return left == 0

    await until(sent)
    assert texts(await planning.plan(branch)) == ["a"]
