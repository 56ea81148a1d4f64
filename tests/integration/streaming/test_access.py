"""Who may do what: tenants do not see each other, and only runners attach (I9)."""

from __future__ import annotations

from contextlib import AsyncExitStack
from datetime import timedelta

import grpc
import pytest

from services.kernel.bus import Bus
from services.kernel.clock import SystemClock
from services.kernel.grpc_client import open_channel
from services.kernel.ids import new_id
from services.kernel.lifecycle import Lifecycle
from services.kernel.postgres import Database
from services.kernel.principal import Authenticator, Principal
from services.kernel.settings import load
from services.streaming.main import build
from services.streaming.settings import StreamingSettings
from tests.integration.streaming.client import Streaming, tool
from tests.integration.streaming.facts import payload, tell
from treadle.streaming.v1 import session_service_pb2 as pb

SECRET = "a secret of at least thirty-two characters"


@pytest.fixture
async def address(database_url: str, nats_url: str, stack: AsyncExitStack) -> str:
    """A replica that verifies tokens."""
    settings = load(
        StreamingSettings,
        listen="127.0.0.1:0",
        planning_target="none",
        streaming_database_url=database_url,
        nats_url=nats_url,
        auth_secret=SECRET,
    )
    life = await stack.enter_async_context(Lifecycle("streaming", 5))
    return (await build(settings, life)).address


def caller(address: str, stack: AsyncExitStack, tenant: str, *roles: str) -> Streaming:
    token = Authenticator(SECRET, SystemClock()).mint(
        Principal(tenant, "somebody", "user", frozenset(roles)), timedelta(minutes=5)
    )
    assert token is not None
    channel = open_channel(address, lambda: f"Bearer {token}")
    stack.push_async_callback(channel.close)
    return Streaming(channel)


async def test_a_tenant_sees_nothing_of_another(
    address: str, stack: AsyncExitStack, database: Database, bus: Bus
) -> None:
    one, two = caller(address, stack, "one", "admin"), caller(address, stack, "two", "admin")
    name = await one.session(title="mine")
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await two.sessions.GetSession(pb.GetSessionRequest(name=name))
    assert refused.value.code() is grpc.StatusCode.NOT_FOUND
    assert not (await two.sessions.ListSessions(pb.ListSessionsRequest())).sessions
    async with two.listening(name) as spy, one.of_tenant() as mine, two.of_tenant() as theirs:
        await spy.ended.wait()
        assert spy.error is not None
        assert spy.error.code() is grpc.StatusCode.NOT_FOUND
        thread = new_id("thr")
        await tell(database, bus, payload(thread, 1), tenant="one")
        await tell(database, bus, payload(new_id("thr"), 1), tenant="two")
        await mine.heard(2)  # the session was told of, too
        await theirs.heard(1)
        assert sum(thread.encode() in frame.data for frame in mine.frames) == 1
        assert not any(thread.encode() in frame.data or b"ses_" in frame.data for frame in theirs.frames)
        async with two.of_thread(thread) as later:
            assert await later.level() == []


async def test_who_has_no_token_or_not_the_role_is_refused(address: str, stack: AsyncExitStack) -> None:
    stranger = Streaming(open_channel(address))
    stack.push_async_callback(stranger.channel.close)
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await stranger.session()
    assert refused.value.code() is grpc.StatusCode.UNAUTHENTICATED
    name = await caller(address, stack, "one", "reviewer").session()
    viewer = caller(address, stack, "one", "viewer")
    assert (await viewer.sessions.GetSession(pb.GetSessionRequest(name=name))).name == name
    with pytest.raises(grpc.aio.AioRpcError) as no_author:
        await viewer.session()
    assert no_author.value.code() is grpc.StatusCode.PERMISSION_DENIED
    async with caller(address, stack, "one", "runner").listening(name) as no_reader:
        await no_reader.ended.wait()
    assert no_reader.error is not None
    assert no_reader.error.code() is grpc.StatusCode.PERMISSION_DENIED
    with pytest.raises(grpc.aio.AioRpcError) as denied:
        async with caller(address, stack, "one", "viewer").attached(name) as runner:
            await runner.send(tool(1, "c1"))
    assert denied.value.code() is grpc.StatusCode.PERMISSION_DENIED
