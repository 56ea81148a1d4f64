"""Idempotency keys on real Postgres: one run, one answer, whoever repeats it and when (PUB08)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from services.kernel import idempotency
from services.kernel.errors import AlreadyExists, Invalid, NotAllowed
from services.kernel.postgres import Database
from services.kernel.principal import LOCAL, Principal
from tests.conftest import MakeDatabase


@pytest.fixture
async def db(make_database: MakeDatabase) -> AsyncIterator[Database]:
    database = await Database.open(await make_database("planning"), "test", max_size=10)
    yield database
    await database.close()


async def _command(db: Database, request_id: str, body: bytes, runs: list[bytes], who: Principal = LOCAL) -> bytes:
    key = idempotency.key_for(who, "Create", request_id)
    async with db.transaction() as tx:
        stored = await idempotency.remember(tx, key, idempotency.body_digest(body))
        if stored is not None:
            return stored
        await asyncio.sleep(0.01)
        runs.append(body)
        answer = b"answer %d" % len(runs)
        await idempotency.store(tx, key, answer)
        return answer


async def test_pub08_ten_at_once_with_one_key_run_once_and_answer_alike(db: Database) -> None:
    runs: list[bytes] = []
    answers = await asyncio.gather(*(_command(db, "k1", b"body", runs) for _ in range(10)))
    assert len(runs) == 1
    assert set(answers) == {b"answer 1"}


async def test_pub08_the_same_key_with_another_body_is_refused(db: Database) -> None:
    runs: list[bytes] = []
    await _command(db, "k1", b"body", runs)
    with pytest.raises(AlreadyExists) as caught:
        await _command(db, "k1", b"other", runs)
    assert caught.value.reason == "REQUEST_ID_REUSED"
    assert len(runs) == 1


async def test_pub08_keys_are_scoped_by_caller(db: Database) -> None:
    runs: list[bytes] = []
    await _command(db, "k1", b"body", runs)
    await _command(db, "k1", b"other", runs, Principal("default", "ann"))
    await _command(db, "k1", b"another", runs, Principal("acme", "local"))
    assert len(runs) == 3


async def test_pub08_a_refusal_frees_the_key(db: Database) -> None:
    key = idempotency.key_for(LOCAL, "Create", "k1")

    async def refused() -> None:
        async with db.transaction() as tx:
            await idempotency.remember(tx, key, b"1")
            raise NotAllowed("NO", "not now")

    with pytest.raises(NotAllowed):
        await refused()
    runs: list[bytes] = []
    assert await _command(db, "k1", b"body", runs) == b"answer 1"


async def test_no_key_means_no_memory(db: Database) -> None:
    runs: list[bytes] = []
    await _command(db, "", b"body", runs)
    await _command(db, "", b"body", runs)
    assert len(runs) == 2


@pytest.mark.parametrize("bad", ["a b", "x" * 129, "ü", "k\n", "k\x00"])
def test_a_malformed_key_is_refused_by_name(bad: str) -> None:
    with pytest.raises(Invalid) as caught:
        idempotency.key_for(LOCAL, "Create", bad)
    assert caught.value.metadata["field"] == "request_id"
