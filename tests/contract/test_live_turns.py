"""What spawning asks of streaming, on the fake and on the real service: is this session's turn live (C.2)?"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import NamedTuple, Protocol

import grpc
import pytest

from services.coordination.adapters.conversations import StreamingConversations
from services.coordination.application.ports import LiveTurn
from services.kernel import request as calls
from services.kernel.errors import Denied, Unauthenticated, Unavailable
from services.kernel.grpc_client import open_channel
from services.kernel.ids import new_id
from services.kernel.lifecycle import Lifecycle
from services.kernel.principal import Principal
from services.kernel.settings import load
from services.streaming.main import build as build_streaming
from services.streaming.settings import StreamingSettings
from tests.conftest import MakeDatabase
from tests.fakes.streaming_sessions import FakeSessions, fake_sessions, serving
from tests.integration.coordination.client import PERSON, SECRET, STRANGER, agent, bearing
from tests.ports import free_port
from treadle.streaming.v1 import session_service_pb2 as pb
from treadle.streaming.v1.session_service_pb2_grpc import SessionServiceStub


class Driver(Protocol):
    """How a suite makes turns of outside sessions happen."""

    async def session(self, model: str) -> str: ...
    async def begins(self, session: str) -> str: ...
    async def ends(self, session: str) -> None: ...


class FakeDriver:
    """On the fake."""

    def __init__(self, fake: FakeSessions) -> None:
        self._fake = fake

    async def session(self, model: str) -> str:
        session = self._fake.open(adapter="external", provider="p", model=model, thinking="high")
        session.turns.clear()
        return session.id

    async def begins(self, session: str) -> str:
        return self._fake.sessions["default", session].begin().id

    async def ends(self, session: str) -> None:
        self._fake.sessions["default", session].settle()


class RealDriver:
    """On the real one."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._stub = SessionServiceStub(channel)
        self._as = bearing(PERSON)

    async def session(self, model: str) -> str:
        request = pb.CreateSessionRequest(adapter="external", provider="p", model=model, thinking="high")
        return (await self._stub.CreateSession(request, metadata=self._as)).id

    async def begins(self, session: str) -> str:
        request = pb.OpenTurnRequest(name=f"sessions/{session}", text="go")
        return (await self._stub.OpenTurn(request, metadata=self._as)).turn_id

    async def ends(self, session: str) -> None:
        await self._stub.CloseTurn(pb.CloseTurnRequest(name=f"sessions/{session}", text="done"), metadata=self._as)


class Asked(NamedTuple):
    """What is under test, and how turns are made."""

    conversations: StreamingConversations
    driver: Driver


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    """Closed at the end of the test, in reverse."""
    async with AsyncExitStack() as one:
        yield one


@pytest.fixture(params=["fake", "real"])
async def asked(
    request: pytest.FixtureRequest, make_database: MakeDatabase, nats_url: str, stack: AsyncExitStack
) -> Asked:
    """Over the fake, and over the real service."""
    fake = fake_sessions()
    if request.param == "fake":
        address = await stack.enter_async_context(serving(fake, SECRET))
    else:
        settings = load(
            StreamingSettings,
            listen="127.0.0.1:0",
            planning_target="none",
            streaming_database_url=await make_database("streaming"),
            nats_url=nats_url,
            auth_secret=SECRET,
            drain_seconds=5,
        )
        life = await stack.enter_async_context(Lifecycle("streaming", 5))
        address = (await build_streaming(settings, life)).address
    channel = open_channel(address)
    stack.push_async_callback(channel.close)
    driver: Driver = FakeDriver(fake) if request.param == "fake" else RealDriver(channel)
    return Asked(StreamingConversations(channel), driver)


def calling(principal: Principal) -> None:
    """From here on this caller's call is under way."""
    calls.enter(calls.RequestContext("req_1", principal, bearing(principal)[0][1]))


async def test_a_turn_that_is_under_way_is_live_until_it_ends(asked: Asked) -> None:
    conversations, driver = asked
    session = await driver.session("m")
    calling(agent(session))
    assert await conversations.live_turn(session) is None
    turn = await driver.begins(session)
    assert await conversations.live_turn(session) == LiveTurn(turn, "external", "p", "m", "high")
    calling(PERSON)
    assert await conversations.live_turn(session) == LiveTurn(turn, "external", "p", "m", "high")
    await driver.ends(session)
    assert await conversations.live_turn(session) is None
    second = await driver.begins(session)
    assert await conversations.live_turn(session) == LiveTurn(second, "external", "p", "m", "high")


async def test_what_is_no_session_or_of_another_tenant_has_no_live_turn(asked: Asked) -> None:
    conversations, driver = asked
    session = await driver.session("m")
    await driver.begins(session)
    calling(STRANGER)
    assert await conversations.live_turn(session) is None
    calling(PERSON)
    for other in (new_id("ses"), "worker:x", "a b", "ä/ö"):
        assert await conversations.live_turn(other) is None


async def test_a_caller_that_streaming_does_not_know_is_told_so(asked: Asked) -> None:
    conversations, driver = asked
    session = await driver.session("m")
    await driver.begins(session)
    calls.enter(calls.RequestContext("req_1", PERSON, "Bearer nonsense"))
    with pytest.raises((Unauthenticated, Denied)):
        await conversations.live_turn(session)


async def test_streaming_that_is_away_or_silent_is_unavailable(stack: AsyncExitStack) -> None:
    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    silent = await asyncio.start_server(say_nothing, "127.0.0.1", 0)
    stack.callback(silent.close)
    port = silent.sockets[0].getsockname()[1]
    calling(PERSON)
    for target in (f"127.0.0.1:{free_port()}", f"127.0.0.1:{port}"):
        channel = open_channel(target)
        stack.push_async_callback(channel.close)
        with pytest.raises(Unavailable) as refused:
            await StreamingConversations(channel, 0.1).live_turn(new_id("ses"))
        assert refused.value.reason == "STREAMING_UNAVAILABLE"
