"""`verify` is silent when all is well and names each fault that is put in behind the service's back."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from services.kernel.postgres import Database
from services.threads.adapters.stored import verify
from tests.integration.threads.client import EXECUTION, INFERENCE, Client, citation, told
from treadle.threads.v1 import thread_service_pb2 as pb


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    """A pool behind the service's back."""
    database = await Database.open(database_url, "test")
    yield database
    await database.close()


async def test_threads_in_many_states_have_no_fault(threads: Client, database: Database) -> None:
    await threads.to_gate()
    for success in (True, False):
        card = await threads.to_gate()
        await threads.accept(card.name, card)
        await threads.execute(success=success)
    card = await threads.to_gate()
    await told(threads.people.RedirectAction(pb.RedirectActionRequest(name=card.name, feedback="x", **citation(card))))
    assert await verify(database) == []
    job = await threads.take(INFERENCE)
    assert await verify(database) == []
    await threads.fail(job, "provider_error")
    card = await threads.to_gate()
    await threads.accept(card.name, card)
    assert await verify(database) == []
    await threads.start(await threads.take(EXECUTION))
    assert await verify(database) == []


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        ("UPDATE threads SET state = 'done'", "the column says done"),
        ("DELETE FROM thread_events WHERE seq = 1", "does not follow"),
        ("DELETE FROM thread_events WHERE seq = 2", "does not rebuild the row"),
        ("DELETE FROM jobs", "its live jobs are []"),
        ("UPDATE threads SET timer_at = now()", "its timer is"),
        ("UPDATE threads SET doc = replace(doc::text, 'plumber', 'baker')::json", "does not rebuild the row"),
    ],
)
async def test_damage_is_named(threads: Client, database: Database, damage: str, says: str) -> None:
    thread = await threads.create()
    async with database.connection() as tx:
        await tx.raw.execute(damage)
    found = await verify(database)
    assert found
    assert all(fault.startswith(thread.id) for fault in found)
    assert any(says in fault for fault in found)
