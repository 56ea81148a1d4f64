"""What a registered worker's session said last: one scenario on the fake streaming service and on the real one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import grpc
import pytest

from services.coordination.adapters.sayings import StreamingSayings
from services.kernel.clock import SystemClock
from services.kernel.lifecycle import Lifecycle
from services.kernel.principal import Authenticator
from services.kernel.service_tokens import ServiceTokens
from services.kernel.settings import load
from services.streaming.main import build
from services.streaming.settings import StreamingSettings
from tests.conftest import MakeDatabase
from tests.fakes.streaming_sessions import fake_sessions, serving
from tests.integration.coordination.client import PERSON, SECRET, bearing
from treadle.streaming.v1 import session_service_pb2 as pb
from treadle.streaming.v1.session_service_pb2_grpc import SessionServiceStub

EVER = datetime(2000, 1, 1, tzinfo=UTC)


@dataclass
class Neighbour:
    """Streaming with one session. `say` runs a whole turn in which its agent says this."""

    channel: grpc.aio.Channel
    session: str
    say: Callable[[str, str], Awaitable[object]]


@pytest.fixture(params=["fake", "real"])
async def streaming(
    request: pytest.FixtureRequest, make_database: MakeDatabase, nats_url: str
) -> AsyncIterator[Neighbour]:
    """Each of them behind its channel."""
    async with AsyncExitStack() as stack:
        if request.param == "fake":
            fake = fake_sessions()
            channel = grpc.aio.insecure_channel(await stack.enter_async_context(serving(fake, SECRET)))
            stack.push_async_callback(channel.close)
            session = fake.open()
            session.settle()

            async def say(text: str, outcome: str) -> object:
                return session.say(text, outcome)

            yield Neighbour(channel, session.id, say)
            return
        settings = load(
            StreamingSettings,
            listen="127.0.0.1:0",
            planning_target="none",
            streaming_database_url=await make_database("streaming"),
            nats_url=nats_url,
            auth_secret=SECRET,
            drain_seconds=5,
        )
        life = await stack.enter_async_context(Lifecycle("streaming", settings.drain_seconds))
        channel = grpc.aio.insecure_channel((await build(settings, life)).address)
        stack.push_async_callback(channel.close)
        stub = SessionServiceStub(channel)
        by: Any = {"metadata": bearing(PERSON)}
        name = (await stub.CreateSession(pb.CreateSessionRequest(adapter="external"), **by)).name

        async def close(text: str, outcome: str) -> object:
            await stub.OpenTurn(pb.OpenTurnRequest(name=name, text="go on"), **by)
            return await stub.CloseTurn(pb.CloseTurnRequest(name=name, text=text, outcome=outcome), **by)

        yield Neighbour(channel, name.removeprefix("sessions/"), close)


async def test_the_newest_words_of_the_agent_are_found(streaming: Neighbour) -> None:
    clock = SystemClock()
    sayings = StreamingSayings(
        streaming.channel, ServiceTokens("coordination", Authenticator(SECRET, clock), clock), seconds=10
    )
    session = streaming.session
    assert await sayings.newest("default", session, EVER) is None, "nothing was said"
    await streaming.say("first", "ok")
    first = await sayings.newest("default", session, EVER)
    assert first is not None
    assert (first.text, first.partial) == ("first", False)
    assert first == await sayings.newest("default", session, EVER)
    await streaming.say("cut o", "truncated")
    second = await sayings.newest("default", session, EVER)
    assert second is not None
    assert (second.text, second.partial) == ("cut o", True)
    assert second.key != first.key
    await streaming.say("", "ok")
    assert await sayings.newest("default", session, EVER) == second, "a turn without words changes nothing"
    assert await sayings.newest("default", session, clock.now() + timedelta(minutes=1)) is None, "older than asked"
    for tenant, other in (("elsewhere", session), ("default", "ses_" + "0" * 32), ("default", "codex:1")):
        assert await sayings.newest(tenant, other, EVER) is None
