"""Where coordination and streaming meet: what a worker's turn looks like from there, on the fake and on the real
service; facts both ways, and a coordinator that is woken (design/coordination.md C.2–C.4)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Any, NamedTuple, Protocol

import pytest

from services.coordination.adapters.streaming_client import StreamingClient
from services.coordination.main import build as build_coordination
from services.coordination.settings import CoordinationSettings
from services.kernel.clock import SystemClock
from services.kernel.errors import NotAllowed, NotFound, Unavailable
from services.kernel.grpc_client import open_channel
from services.kernel.ids import new_id
from services.kernel.lifecycle import Lifecycle
from services.kernel.principal import Authenticator, Principal
from services.kernel.service_tokens import ServiceTokens
from services.kernel.settings import load
from services.streaming.main import build as build_streaming
from services.streaming.settings import StreamingSettings
from tests.conftest import MakeDatabase
from tests.fakes.streaming_sessions import FakeSessions, FakeTurn, fake_sessions, serving
from tests.integration.coordination.client import SECRET, Coordination, spec
from tests.integration.coordination.runner_client import Runner, session_of, until
from tests.integration.streaming.agent_runner import FakeRunner, Held
from tests.integration.streaming.client import Streaming, body
from tests.integration.streaming.test_external import open_turn
from tests.ports import free_port
from treadle.coordination.v1 import coordination_service_pb2 as pb
from treadle.streaming.v1 import runner_service_pb2 as runners
from treadle.streaming.v1 import session_service_pb2 as sessions_pb

ADMIN = Principal("default", "root", "user", frozenset({"admin"}))


def as_admin() -> str:
    return f"Bearer {Authenticator(SECRET, SystemClock()).mint(ADMIN, timedelta(minutes=10))}"


class Agents(Protocol):
    """How a suite makes turns happen, on the fake and on the real service."""

    async def session(self) -> str: ...
    async def begun(self, session: str) -> None: ...
    async def says(self, session: str, words: str) -> None: ...
    async def settles(self, session: str, text: str) -> None: ...
    async def stops(self, session: str) -> None: ...


class FakeAgents:
    """On the fake."""

    def __init__(self, fake: FakeSessions) -> None:
        self._fake = fake

    async def session(self) -> str:
        session = self._fake.open()
        session.turns.clear()
        return session.id

    async def begun(self, session: str) -> None:
        self._fake.sessions["default", session].attended = True

    async def says(self, session: str, words: str) -> None:
        turn = self._turn(session)
        turn.said, turn.text = True, turn.text + words

    async def settles(self, session: str, text: str) -> None:
        turn = self._turn(session)
        turn.text, turn.tokens = text, 30
        self._fake.sessions["default", session].settle()

    async def stops(self, session: str) -> None:
        return  # an abort is heeded at once

    def _turn(self, session: str) -> FakeTurn:
        return self._fake.sessions["default", session].turns[-1]


class RealAgents:
    """On the real one, by a runner that the test drives."""

    def __init__(self, streaming: Streaming) -> None:
        self._streaming = streaming
        self.runner = FakeRunner(streaming)
        self._held: dict[str, Held] = {}
        self._turns: dict[str, str] = {}

    async def session(self) -> str:
        return (await self._streaming.session()).partition("/")[2]

    async def begun(self, session: str) -> None:
        held = await self.runner.take()
        await held.command("prompt")
        self._held[session] = held
        got = await self._streaming.sessions.GetSession(sessions_pb.GetSessionRequest(name=f"sessions/{session}"))
        self._turns[session] = got.turn_id

    async def says(self, session: str, words: str) -> None:
        await self._held[session].text(words)
        await self._held[session].stored()

    async def settles(self, session: str, text: str) -> None:
        usage = runners.Usage(input_tokens=10, output_tokens=20)
        await self._held[session].settle(self._turns[session], final_text=text, usage=usage)

    async def stops(self, session: str) -> None:
        await self._held[session].settle(self._turns[session], "aborted")


class Asked(NamedTuple):
    """The client under test, and how turns are made."""

    client: StreamingClient
    agents: Agents


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    """Closed at the end of the test, in reverse."""
    async with AsyncExitStack() as one:
        yield one


async def real_streaming(make_database: MakeDatabase, nats_url: str, stack: AsyncExitStack) -> tuple[str, Streaming]:
    at = f"127.0.0.1:{free_port()}"
    settings = load(
        StreamingSettings,
        listen=at,
        planning_target="none",
        streaming_database_url=await make_database("streaming"),
        nats_url=nats_url,
        auth_secret=SECRET,
        drain_seconds=5,
    )
    await build_streaming(settings, await stack.enter_async_context(Lifecycle("streaming", 5)))
    channel = open_channel(at, as_admin)
    stack.push_async_callback(channel.close)
    return at, Streaming(channel)


@pytest.fixture(params=["fake", "real"])
async def asked(
    request: pytest.FixtureRequest, make_database: MakeDatabase, nats_url: str, stack: AsyncExitStack
) -> Asked:
    """The client over the fake, and over the real service."""
    agents: Agents
    if request.param == "fake":
        fake = fake_sessions()
        address = await stack.enter_async_context(serving(fake, SECRET))
        agents = FakeAgents(fake)
    else:
        address, streaming = await real_streaming(make_database, nats_url, stack)
        agents = RealAgents(streaming)
        stack.push_async_callback(agents.runner.close)
    channel = open_channel(address)
    stack.push_async_callback(channel.close)
    clock = SystemClock()
    return Asked(StreamingClient(channel, ServiceTokens("coordination", Authenticator(SECRET, clock), clock)), agents)


async def test_a_worker_s_turn_is_seen_as_it_is(asked: Asked) -> None:
    client, agents = asked
    session = await agents.session()
    assert await client.turn_of("default", session) is None
    await client.prompt("default", session, "go", "wrk_1-1")
    await client.prompt("default", session, "go", "wrk_1-1")
    await agents.begun(session)
    seen = await client.turn_of("default", session)
    assert seen is not None
    assert (seen.under_way, seen.waiting, seen.said, seen.attended) == (True, False, False, True)
    with pytest.raises(NotAllowed) as refused:
        await client.prompt("default", session, "more", "wrk_1-2")
    assert refused.value.reason == "TURN_RUNNING"
    await agents.says(session, "half ")

    async def said() -> bool:
        turn = await client.turn_of("default", session)
        return turn is not None and turn.said

    await until(said)
    assert await client.said_so_far("default", session, seen.turn_id) == "half "
    assert await client.said_so_far("default", session, new_id("trn")) == ""
    await agents.settles(session, "whole")
    assert await client.said_so_far("default", session, seen.turn_id) == "", "what has ended is in its messages"
    ended = await client.turn_of("default", session)
    assert ended is not None
    assert (ended.under_way, ended.outcome, ended.code, ended.tokens) == (False, "ok", "", 30)
    assert await client.text_of("default", session, ended.turn_id) == "whole"


async def test_an_abort_ends_a_turn_and_is_nothing_without_one(asked: Asked) -> None:
    client, agents = asked
    session = await agents.session()
    await client.abort("default", session)
    await client.prompt("default", session, "go", "wrk_2-1")
    await agents.begun(session)
    await client.abort("default", session)
    await agents.stops(session)
    await client.abort("default", session)
    ended = await client.turn_of("default", session)
    assert ended is not None
    assert (ended.under_way, ended.outcome) == (False, "aborted")


async def test_what_is_not_there_is_none_and_another_tenant_s_is_not_there(asked: Asked) -> None:
    client, agents = asked
    session = await agents.session()
    for tenant, name in (("elsewhere", session), ("default", new_id("ses")), ("default", "no id at all")):
        assert await client.turn_of(tenant, name) is None
        await client.abort(tenant, name)
    with pytest.raises(NotFound):
        await client.prompt("elsewhere", session, "go", "wrk_3-1")


async def test_a_service_that_is_away_is_unavailable(stack: AsyncExitStack) -> None:
    channel = open_channel(f"127.0.0.1:{free_port()}")
    stack.push_async_callback(channel.close)
    clock = SystemClock()
    client = StreamingClient(channel, ServiceTokens("coordination", Authenticator(SECRET, clock), clock), seconds=0.3)
    calls: list[Any] = [
        client.turn_of("default", "ses_1"),
        client.text_of("default", "ses_1", "trn_1"),
        client.said_so_far("default", "ses_1", "trn_1"),
        client.prompt("default", "ses_1", "go", "r"),
        client.abort("default", "ses_1"),
    ]
    for call in calls:
        with pytest.raises(Unavailable) as refused:
            await call
        assert refused.value.reason == "STREAMING_UNAVAILABLE"


class Both(NamedTuple):
    """The two services, which know each other."""

    streaming: Streaming
    coordination: Coordination


@pytest.fixture
async def both(make_database: MakeDatabase, nats_url: str, stack: AsyncExitStack) -> Both:
    """One replica of each."""
    address, streaming = await real_streaming(make_database, nats_url, stack)
    settings = load(
        CoordinationSettings,
        listen="127.0.0.1:0",
        coordination_database_url=await make_database("coordination"),
        nats_url=nats_url,
        streaming_target=address,
        auth_secret=SECRET,
        drain_seconds=5,
    )
    bound = await build_coordination(settings, await stack.enter_async_context(Lifecycle("coordination", 5)))
    channel = open_channel(bound.address)
    stack.push_async_callback(channel.close)
    return Both(streaming, Coordination(channel))


async def test_a_stopped_turn_stops_its_workers(both: Both) -> None:
    name = await both.streaming.session(adapter="external")
    session = name.partition("/")[2]
    await both.coordination.flag(session)
    await open_turn(both.streaming, name, "go")
    (spawned,) = await both.coordination.spawn(session, spec("alpha"))
    assert spawned.ok
    await both.streaming.sessions.AbortSession(sessions_pb.AbortSessionRequest(name=name))

    async def cancelled() -> bool:
        return (await both.coordination.worker(session, "alpha")).status == pb.Worker.STATUS_CANCELLED

    await until(cancelled)


async def test_a_deleted_conversation_takes_its_workers_and_their_sessions_end(both: Both) -> None:
    name = await both.streaming.session(adapter="external")
    session = name.partition("/")[2]
    await both.coordination.flag(session)
    await open_turn(both.streaming, name, "go")
    await both.coordination.spawn(session, spec("alpha"))
    await both.streaming.sessions.BatchDeleteSessions(sessions_pb.BatchDeleteSessionsRequest(ids=[session]))

    async def cancelled() -> bool:
        return (await both.coordination.worker(session, "alpha")).status == pb.Worker.STATUS_CANCELLED

    await until(cancelled)


async def test_a_late_result_is_told_on_the_coordinator_s_stream_and_wakes_it(both: Both) -> None:
    name = await both.streaming.session()
    session = name.partition("/")[2]
    agents = RealAgents(both.streaming)
    try:
        await both.coordination.flag(session, auto_wake=True)
        await both.streaming.sessions.PromptSession(sessions_pb.PromptSessionRequest(name=name, text="fan it out"))
        await agents.begun(session)
        await both.coordination.spawn(session, spec("alpha"))
        runner = Runner(both.coordination.channel)
        (job,) = await runner.claim()
        async with both.streaming.listening(name) as reader:
            await agents.settles(session, "I have asked alpha.")
            await runner.complete(job, text="## Result\n\nforty-two")
            await reader.until(lambda one: any(frame.event == "worker_result" for frame in one.frames))
            await reader.until(lambda one: sum(frame.event == "prompt" for frame in one.frames) == 2, 20)
            told = [body(frame) for frame in reader.frames if frame.event == "worker_result"]
            asked = [body(frame)["text"] for frame in reader.frames if frame.event == "prompt"]
        assert (told[0]["name"], told[0]["status"]) == ("alpha", "succeeded")
        assert asked[1] == "[Treadle] Worker results are in: alpha (succeeded). Collect them and go on."
        assert session_of(job) != session
    finally:
        await agents.runner.close()
