"""Who may do what to a session's turn: tenants, roles, agents' tokens (I9); and what is too large or purged."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Any

import grpc
import pytest

from services.kernel import jetstream
from services.kernel.bus import Bus
from services.kernel.clock import SystemClock
from services.kernel.grpc_client import open_channel
from services.kernel.postgres import Database
from services.kernel.streams import SESSIONS
from services.streaming.adapters.agent_rows import PostgresAgents
from services.streaming.adapters.session_log import JetStreamSessionLog
from services.streaming.application.purging import purge
from tests.integration.streaming.agent_runner import running
from tests.integration.streaming.client import Streaming
from tests.integration.streaming.test_access import address, caller  # noqa: F401 - a fixture
from tests.integration.streaming.test_gates import CONFIRM, answer
from tests.integration.streaming.test_turns import get, prompt, refused
from treadle.streaming.v1 import session_service_pb2 as pb


def calls(streaming: Streaming, name: str, gate: str) -> dict[str, Callable[[], Awaitable[Any]]]:
    """Every call about one session."""
    s = streaming.sessions
    return {
        "prompt": lambda: s.PromptSession(pb.PromptSessionRequest(name=name, text="x")),
        "steer": lambda: s.SteerSession(pb.SteerSessionRequest(name=name, text="x")),
        "abort": lambda: s.AbortSession(pb.AbortSessionRequest(name=name)),
        "resume": lambda: s.ResumeSession(pb.ResumeSessionRequest(name=name)),
        "gates": lambda: s.ListGates(pb.ListGatesRequest(parent=name)),
        "answer": lambda: s.AnswerGate(pb.AnswerGateRequest(name=f"{name}/gates/{gate}", confirmed=True)),
        "ledger": lambda: s.GetLedger(pb.GetLedgerRequest(name=name)),
        "messages": lambda: s.ListMessages(pb.ListMessagesRequest(parent=name)),
        "token": lambda: s.MintAgentToken(pb.MintAgentTokenRequest(name=name)),
    }


async def code_of(call: Callable[[], Awaitable[Any]]) -> grpc.StatusCode:
    try:
        await call()
    except grpc.aio.AioRpcError as error:
        return error.code()
    return grpc.StatusCode.OK


async def test_i9_another_tenant_finds_nothing_and_each_role_may_do_its_part(
    address: str,  # noqa: F811
    stack: AsyncExitStack,
) -> None:
    one, two = caller(address, stack, "one", "reviewer"), caller(address, stack, "two", "admin")
    name = await one.session()
    async with running(caller(address, stack, "fleet", "runner")) as runner:
        await prompt(one, name)
        held = await runner.take()  # the job says whose session it is
        assert held.job.tenant == "one"
        await held.command("prompt")
        gate = (await held.ask("q", "dialog", CONFIRM)).gate_id
        for what, call in calls(two, name, gate).items():
            assert await code_of(call) is grpc.StatusCode.NOT_FOUND, what
        deleted = await two.sessions.BatchDeleteSessions(pb.BatchDeleteSessionsRequest(ids=[name.partition("/")[2]]))
        assert [(one.ok, one.code) for one in deleted.results] == [(False, "not_found")]
        denied, free = grpc.StatusCode.PERMISSION_DENIED, {"gates", "ledger", "messages"}
        for what, call in calls(caller(address, stack, "one", "viewer"), name, gate).items():
            assert await code_of(call) is (grpc.StatusCode.OK if what in free else denied), what
        minted = await one.sessions.MintAgentToken(pb.MintAgentTokenRequest(name=name))
        for token in (minted.token, held.payload["agent_token"]):
            agent = Streaming(open_channel(address, lambda token=token: f"Bearer {token}"))  # type: ignore[misc]
            stack.push_async_callback(agent.channel.close)
            assert (await get(agent, name)).name == name
            for what in ("answer", "token"):  # an agent does not answer its own gates
                assert await code_of(calls(agent, name, gate)[what]) is denied
        closed = await answer(one, name, gate, confirmed=True)
        assert closed.closed_by == "user:somebody"


@pytest.mark.parametrize("text", ["x" * 32_001, "\x01" * 32_000, "." + "\u2028" * 10_667])
async def test_a_prompt_that_does_not_fit_its_event_is_refused_and_changes_nothing(
    streaming: Streaming, text: str
) -> None:
    name = await streaming.session()
    before = await get(streaming, name)
    await refused(prompt(streaming, name, text), "VALUE_TOO_LARGE")
    assert await get(streaming, name) == before
    await prompt(streaming, name, "." + "\u2028" * 10_000)


async def test_a_purge_removes_what_was_deleted_ten_minutes_ago_and_nothing_else(
    streaming: Streaming, database: Database, bus: Bus
) -> None:
    gone, young, kept = [await streaming.session() for _ in range(3)]
    ids = [name.partition("/")[2] for name in (gone, young)]
    await prompt(streaming, gone)
    async with streaming.listening(gone) as reader:
        await streaming.sessions.BatchDeleteSessions(pb.BatchDeleteSessionsRequest(ids=ids))
        await reader.ended.wait()
    async with database.connection() as tx:
        await tx.raw.execute(
            "UPDATE sessions SET deleted_at = deleted_at - interval '11 minutes' WHERE id = $1", ids[0]
        )

    async def nothing() -> None:
        return None

    rows = PostgresAgents(database, timedelta(seconds=15))
    log = JetStreamSessionLog(bus, nothing)
    # The service's own duty may be first; what counts is what is left.
    assert await purge(rows, log, SystemClock()) <= 1
    async with asyncio.timeout(20), database.connection() as tx:
        for table, column in (("sessions", "id"), ("turns", "session_id"), ("session_outbox", "session_id")):
            while await tx.raw.fetchval(f"SELECT count(*) FROM {table} WHERE {column} = $1", ids[0]):
                await asyncio.sleep(0.01)
    subjects = [f"session.default.{name.partition('/')[2]}" for name in (gone, young, kept)]
    left = [await jetstream.last_of(bus, SESSIONS, subject) is not None for subject in subjects]
    assert left == [False, True, True]
    assert (await get(streaming, kept)).name == kept
    await rows.sweep(timedelta(0))
    await prompt(streaming, kept, "goes on")
    async with streaming.listening(kept) as reader:
        await reader.until(lambda one: any(b"goes on" in frame.data for frame in one.frames))
