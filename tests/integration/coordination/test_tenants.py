"""Nothing of another tenant is visible, and nothing of it can be touched (I9)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
from grpc import StatusCode

from services.kernel.principal import Principal
from tests.integration.coordination.client import PERSON, STRANGER, VIEWER, Coordination, agent, refused, spec
from tests.integration.coordination.conftest import Served
from treadle.coordination.v1 import coordination_service_pb2 as pb

Call = Callable[[Coordination, str, Principal], Awaitable[object]]
READS: dict[str, Call] = {
    "GetRoster": lambda api, session, by: api.roster(session, by=by),
    "ListNotes": lambda api, session, by: api.notes(session, by=by),
    "ListNotes of a worker": lambda api, session, by: api.notes(session, "alpha", by=by),
}
COMMANDS: dict[str, Call] = {
    "AddNote": lambda api, session, by: api.note(session, "x", by=by),
    "AddNote of a worker": lambda api, session, by: api.note(session, "x", "alpha", by=by),
    "CancelWorker": lambda api, session, by: api.cancel(session, "alpha", by=by),
    "SetWorkerStatus": lambda api, session, by: api.status(session, "beta", "failed", by=by),
}
PEOPLES: dict[str, Call] = {
    "SetThreadMode": lambda api, session, by: api.flag(session, enabled=False, by=by),
    "RegisterWorker": lambda api, session, by: api.register(session, "gamma", "ses_g", by=by),
}


@pytest.fixture
async def busy(coordination: Coordination, chat: str) -> str:
    """A coordinator with workers and notes."""
    await coordination.spawn(chat, spec("alpha"))
    await coordination.register(chat, "beta", "ses_w")
    await coordination.note(chat, "secret")
    await coordination.note(chat, "secret of alpha", "alpha")
    return chat


@pytest.mark.parametrize("call", [*READS, *COMMANDS])
async def test_what_is_of_another_tenant_is_not_found(coordination: Coordination, busy: str, call: str) -> None:
    before = await coordination.roster(busy)
    async with refused(StatusCode.NOT_FOUND, "COORDINATOR_NOT_FOUND"):
        await {**READS, **COMMANDS}[call](coordination, busy, STRANGER)
    assert await coordination.roster(busy) == before


async def test_two_tenants_have_the_same_ids_each_for_itself(
    coordination: Coordination, busy: str, sessions: Served
) -> None:
    before = await coordination.roster(busy)
    assert not (await coordination.workers(busy, by=STRANGER)).threads
    assert not (await coordination.workers("ses_w", by=STRANGER)).HasField("assignment")
    async with refused(StatusCode.FAILED_PRECONDITION, "THREAD_MODE_DISABLED"):
        await coordination.spawn(busy, spec("alpha"), by=STRANGER)
    await coordination.flag(busy, by=STRANGER)
    async with refused(StatusCode.FAILED_PRECONDITION, "NO_LIVE_TURN"):
        await coordination.spawn(busy, spec("alpha"), by=STRANGER)
    sessions.fake.open("elsewhere", id=busy)
    (one,) = await coordination.spawn(busy, spec("alpha"), by=STRANGER)
    assert one.ok
    await coordination.register(busy, "beta", "ses_w", by=STRANGER)
    await coordination.note(busy, "theirs", by=STRANGER)
    await coordination.cancel(busy, "alpha", by=STRANGER)
    await coordination.status("ses_w", "beta", "failed", by=STRANGER)
    assert await coordination.roster(busy) == before
    assert list((await coordination.roster(busy, by=STRANGER)).notes) == ["theirs"]


async def test_a_page_token_of_another_tenant_is_refused(coordination: Coordination, busy: str) -> None:
    token = (await coordination.workers(busy, page_size=1)).next_page_token
    assert token
    async with refused(StatusCode.INVALID_ARGUMENT, "INVALID_PAGE_TOKEN"):
        await coordination.workers(busy, by=STRANGER, page_token=token)


@pytest.mark.parametrize("call", [*READS, *COMMANDS, *PEOPLES])
async def test_who_may_call_what(coordination: Coordination, busy: str, call: str) -> None:
    run = {**READS, **COMMANDS, **PEOPLES}[call]
    if call in READS:
        await run(coordination, busy, VIEWER)
    else:
        async with refused(StatusCode.PERMISSION_DENIED, "ROLE_REQUIRED"):
            await run(coordination, busy, VIEWER)
    async with refused(StatusCode.PERMISSION_DENIED, "ROLE_REQUIRED"):
        await run(coordination, busy, Principal("default", "r", "service", frozenset({"runner"})))
    wrong = "ROLE_REQUIRED" if call in PEOPLES else "NOT_YOURS"
    for other in (agent("ses_w"), agent("ses_unknown"), Principal("default", "x", "user", frozenset({"agent"}))):
        async with refused(StatusCode.PERMISSION_DENIED, wrong):
            await run(coordination, busy, other)
    await run(coordination, busy, PERSON if call in PEOPLES else agent(busy))


async def test_without_a_token_nothing_is_answered(coordination: Coordination, busy: str) -> None:
    async with refused(StatusCode.UNAUTHENTICATED, "TOKEN_REQUIRED"):
        await coordination.stub.GetRoster(pb.GetRosterRequest(coordinator_session_id=busy))
