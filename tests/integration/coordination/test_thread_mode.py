"""Thread mode: on, off, repeated, and what its workers may cost."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc
import orjson
import pytest
from grpc import StatusCode

from services.kernel.postgres import Database
from tests.integration.coordination.client import Coordination, refused, spec
from tests.integration.coordination.conftest import Served


async def flags_told(database: Database) -> int:
    async with database.connection() as tx:
        rows = await tx.raw.fetch("SELECT payload FROM outbox")
    return sum(orjson.loads(row["payload"])["kind"] == "flag" for row in rows)


async def test_it_is_made_changed_and_repeated_without_a_change(coordination: Coordination, database: Database) -> None:
    on = await coordination.flag("ses_a")
    assert (on.ok, on.session_id, on.enabled) == (True, "ses_a", True)
    first = await coordination.roster("ses_a")
    for _ in range(3):
        assert (await coordination.flag("ses_a")).enabled
    assert await coordination.roster("ses_a") == first
    assert await flags_told(database) == 1
    assert not (await coordination.flag("ses_a", enabled=False)).enabled
    assert not (await coordination.roster("ses_a")).enabled
    assert await flags_told(database) == 2


async def test_a_record_can_begin_switched_off(coordination: Coordination) -> None:
    assert not (await coordination.flag("ses_off", enabled=False)).enabled
    assert not (await coordination.roster("ses_off")).enabled


async def test_policy_fields_that_are_set_are_changed_and_others_stay(coordination: Coordination) -> None:
    await coordination.flag("ses_a", auto_wake=True, budget_seconds=60, adapter="pi")
    policy = (await coordination.flag("ses_a", budget_tokens=9, adapter="")).policy
    assert (policy.auto_wake, policy.budget_seconds, policy.budget_tokens, policy.adapter) == (True, 60, 9, "")
    assert (await coordination.roster("ses_a")).policy == policy


async def test_on_or_off_must_be_said(coordination: Coordination) -> None:
    async with refused(StatusCode.INVALID_ARGUMENT, "INVALID_ARGUMENT", field="enabled"):
        await coordination.flag("ses_a", enabled=None)
    async with refused(StatusCode.NOT_FOUND, "COORDINATOR_NOT_FOUND"):
        await coordination.roster("ses_a")


@pytest.mark.parametrize(
    ("policy", "field"),
    [
        ({"budget_seconds": -1}, "policy.budget_seconds"),
        ({"budget_tokens": -1}, "policy.budget_tokens"),
        ({"adapter": "A B"}, "policy.adapter"),
        ({"adapter": "external"}, "policy.adapter"),
        ({"provider": "\n"}, "policy.provider"),
        ({"model": "m" * 129}, "policy.model"),
    ],
)
async def test_a_policy_that_is_wrong_is_refused_by_its_field(
    coordination: Coordination, policy: dict[str, Any], field: str
) -> None:
    async with refused(StatusCode.INVALID_ARGUMENT, "INVALID_ARGUMENT", field=field):
        await coordination.flag("ses_a", **policy)


@pytest.mark.parametrize("session", ["", " a", "a\nb", "x" * 257, "a\0b"])
async def test_a_session_id_that_is_wrong_is_refused(coordination: Coordination, session: str) -> None:
    async with refused(StatusCode.INVALID_ARGUMENT, "INVALID_ARGUMENT", field="session_id"):
        await coordination.flag(session)


async def test_the_same_request_is_answered_once_and_another_body_is_refused(
    coordination: Coordination, database: Database
) -> None:
    for _ in range(3):
        await coordination.flag("ses_a", request_id="r1")
    assert await flags_told(database) == 1
    async with refused(StatusCode.ALREADY_EXISTS, "REQUEST_ID_REUSED"):
        await coordination.flag("ses_a", enabled=False, request_id="r1")
    await coordination.flag("ses_b", enabled=False, request_id="r1")


async def test_a_workers_session_becomes_no_coordinator(coordination: Coordination) -> None:
    await coordination.register("ses_a", "alpha", "ses_w")
    async with refused(StatusCode.FAILED_PRECONDITION, "DEPTH_EXCEEDED"):
        await coordination.flag("ses_w")
    async with refused(StatusCode.NOT_FOUND, "COORDINATOR_NOT_FOUND"):
        await coordination.roster("ses_w")


async def test_a9_28_the_flag_toggled_a_hundred_times_during_spawns_loses_no_thread(
    coordination: Coordination, sessions: Served
) -> None:
    session = sessions.fake.open().id
    await coordination.flag(session)
    made: set[str] = set()

    async def toggle() -> None:
        for number in range(100):
            await coordination.flag(session, enabled=number % 2 == 1)

    async def spawn() -> None:
        while len(made) < 30:
            try:
                (one,) = await coordination.spawn(session, spec(f"w{len(made)}"))
            except grpc.aio.AioRpcError as error:
                if "thread mode is off" in (error.details() or ""):
                    continue
                raise
            assert one.ok
            made.add(one.name)

    await asyncio.gather(toggle(), spawn())
    roster = await coordination.roster(session)
    assert roster.enabled
    assert {one.name for one in roster.threads} == made
