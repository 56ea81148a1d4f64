"""Many spawns at once, from many clients, over names that overlap."""

from __future__ import annotations

import asyncio
from collections import Counter

from services.kernel.postgres import Database
from tests.integration.coordination.client import PERSON, spec
from tests.integration.coordination.conftest import Served, StartReplica


async def test_thirty_two_spawns_at_once_from_eight_clients_over_names_that_overlap(
    start_replica: StartReplica, sessions: Served, database: Database
) -> None:
    replicas = [await start_replica() for _ in range(2)]
    session = sessions.fake.open().id
    await replicas[0].flag(session)
    names = [f"w{number}" for number in range(20)]

    async def client(number: int) -> list[tuple[str, str, str]]:
        heard = []
        for call in range(4):
            picked = [names[(number * 3 + call * 5 + step) % len(names)] for step in range(3)]
            by = PERSON if number % 2 else None
            answer = await replicas[number % 2].spawn(
                session, *(spec(name, f"of client {number}") for name in picked), by=by, request_id=f"{number}-{call}"
            )
            assert [one.name for one in answer] == picked
            heard += [(one.name, one.subagent_id, one.code) for one in answer]
        return heard

    heard = [one for answers in await asyncio.gather(*(client(number) for number in range(8))) for one in answers]
    assert {code for _, _, code in heard} == {"", "name_taken"}
    won = {name: worker_id for name, worker_id, code in heard if not code}
    assert Counter(name for name, _, code in heard if not code) == Counter(dict.fromkeys(names, 1))
    listed = (await replicas[0].workers(session)).threads
    assert {one.name: one.id for one in listed} == won
    async with database.connection() as tx:
        rows = await tx.raw.fetch(
            "SELECT w.id, j.id AS job FROM workers w JOIN jobs j ON j.subject = w.id AND j.id = w.job_id"
        )
        told = await tx.raw.fetchval("SELECT count(*) FROM outbox")
    assert {row["id"] for row in rows} == set(won.values())
    assert told == 1 + len(names)


async def test_the_cap_holds_whoever_comes_at_once(start_replica: StartReplica, sessions: Served) -> None:
    replicas = [await start_replica() for _ in range(2)]
    session = sessions.fake.open().id
    await replicas[0].flag(session)
    calls = [
        replicas[number % 2].spawn(session, *(spec(f"w{number}-{step}") for step in range(6))) for number in range(8)
    ]
    codes = Counter(one.code for answer in await asyncio.gather(*calls) for one in answer)
    assert codes == {"": 32, "too_many_threads": 16}
