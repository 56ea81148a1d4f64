"""An agent acts for the session of its own token alone (coordination, identity; I9): every call, each its own line."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Any

import grpc
import pytest

from services.kernel.clock import SystemClock
from services.kernel.grpc_client import open_channel
from services.kernel.grpc_errors import refusal_from
from services.kernel.ids import new_id
from services.kernel.principal import Authenticator, Principal
from tests.integration.streaming.client import Streaming
from tests.integration.streaming.test_access import SECRET, address, caller  # noqa: F401 - a fixture
from treadle.streaming.v1 import feed_service_pb2 as feeds
from treadle.streaming.v1 import feed_service_pb2_grpc, session_service_pb2_grpc
from treadle.streaming.v1 import session_service_pb2 as pb

Call = Callable[[], Awaitable[Any]]
GATE = "gat_" + "0" * 32
NOT_ASKED = ("MintAgentToken", "AnswerGate", "BatchDeleteSessions")
"""What no agent may do at all."""


def agent(address: str, stack: AsyncExitStack, session: str, *roles: str) -> Streaming:  # noqa: F811
    token = Authenticator(SECRET, SystemClock()).mint(
        Principal("one", session, "agent", frozenset(roles or ("agent",))), timedelta(minutes=5)
    )
    channel = open_channel(address, lambda: f"Bearer {token}")
    stack.push_async_callback(channel.close)
    return Streaming(channel)


def calls(streaming: Streaming, session: str) -> dict[str, Call]:
    """Every call of the two services, about this session."""
    s, name = streaming.sessions, f"sessions/{session}"

    async def heard(call: Any) -> None:
        try:
            async for _ in call:
                return
        finally:
            call.cancel()

    return {
        "CreateSession": lambda: s.CreateSession(pb.CreateSessionRequest(adapter="external", session_id=session)),
        "GetSession": lambda: s.GetSession(pb.GetSessionRequest(name=name)),
        "ListSessions": lambda: s.ListSessions(pb.ListSessionsRequest()),
        "OpenTurn": lambda: s.OpenTurn(pb.OpenTurnRequest(name=name, text="x")),
        "GetTurn": lambda: s.GetTurn(pb.GetTurnRequest(name=name)),
        "CloseTurn": lambda: s.CloseTurn(pb.CloseTurnRequest(name=name)),
        "PromptSession": lambda: s.PromptSession(pb.PromptSessionRequest(name=name, text="x")),
        "SteerSession": lambda: s.SteerSession(pb.SteerSessionRequest(name=name, text="x")),
        "AbortSession": lambda: s.AbortSession(pb.AbortSessionRequest(name=name)),
        "ResumeSession": lambda: s.ResumeSession(pb.ResumeSessionRequest(name=name)),
        "ListGates": lambda: s.ListGates(pb.ListGatesRequest(parent=name)),
        "AnswerGate": lambda: s.AnswerGate(pb.AnswerGateRequest(name=f"{name}/gates/{GATE}", confirmed=True)),
        "GetLedger": lambda: s.GetLedger(pb.GetLedgerRequest(name=name)),
        "ListMessages": lambda: s.ListMessages(pb.ListMessagesRequest(parent=name)),
        "MintAgentToken": lambda: s.MintAgentToken(pb.MintAgentTokenRequest(name=name)),
        "BatchDeleteSessions": lambda: s.BatchDeleteSessions(pb.BatchDeleteSessionsRequest(ids=[session])),
        "SubscribeSession": lambda: heard(streaming.feeds.SubscribeSession(feeds.SubscribeSessionRequest(name=name))),
        "SubscribeWorkers": lambda: heard(streaming.feeds.SubscribeWorkers(feeds.SubscribeWorkersRequest(name=name))),
        "SubscribeThread": lambda: heard(
            streaming.feeds.SubscribeThread(feeds.SubscribeThreadRequest(name=f"threads/{new_id('thr')}"))
        ),
        "SubscribeTenant": lambda: heard(streaming.feeds.SubscribeTenant(feeds.SubscribeTenantRequest())),
    }


async def reason_of(call: Call) -> str:
    try:
        await call()
    except grpc.aio.AioRpcError as error:
        refusal = refusal_from(error)
        return error.code().name if refusal is None else refusal.reason
    return "OK"


async def test_the_table_has_every_call_that_is_about_a_session() -> None:
    known = {
        name
        for stub in (session_service_pb2_grpc.SessionServiceServicer, feed_service_pb2_grpc.FeedServiceServicer)
        for name in vars(stub)
        if name[0].isupper()
    }
    async with grpc.aio.insecure_channel("127.0.0.1:1") as channel:
        assert set(calls(Streaming(channel), new_id("ses"))) == known


@pytest.mark.parametrize("roles", [(), ("agent", "reviewer", "viewer")])
async def test_i9_an_agent_does_nothing_to_the_session_of_another_and_learns_nothing_of_it(
    address: str,  # noqa: F811
    stack: AsyncExitStack,
    roles: tuple[str, ...],
) -> None:
    person = caller(address, stack, "one", "reviewer")
    mine, theirs = [(await person.session(adapter="external")).partition("/")[2] for _ in range(2)]
    me = agent(address, stack, mine, *roles)
    before = await person.sessions.GetSession(pb.GetSessionRequest(name=f"sessions/{theirs}"))
    for session in (theirs, new_id("ses")):  # one that is there looks like one that is not
        for what, call in calls(me, session).items():
            if what == "ListSessions":
                continue
            expected = "ROLE_REQUIRED" if what in NOT_ASKED and not roles else "NOT_YOURS"
            assert await reason_of(call) == expected, what
    assert await person.sessions.GetSession(pb.GetSessionRequest(name=f"sessions/{theirs}")) == before
    listed = await me.sessions.ListSessions(pb.ListSessionsRequest())
    assert [one.id for one in listed.sessions] == [mine]
    assert listed.next_page_token == ""
    assert await reason_of(lambda: me.sessions.CreateSession(pb.CreateSessionRequest(adapter="pi"))) == "NOT_YOURS"
    assert len((await person.sessions.ListSessions(pb.ListSessionsRequest())).sessions) == 2


async def test_an_agent_does_to_its_own_session_what_agents_may(address: str, stack: AsyncExitStack) -> None:  # noqa: F811
    mine = new_id("ses")
    me = agent(address, stack, mine)
    assert (await me.sessions.ListSessions(pb.ListSessionsRequest())).sessions == []
    expected = {
        **dict.fromkeys(NOT_ASKED, "ROLE_REQUIRED"),
        **dict.fromkeys(("PromptSession", "SteerSession", "ResumeSession"), "EXTERNAL_SESSION"),
        "AbortSession": "TURN_NOT_RUNNING",
        **dict.fromkeys(("SubscribeTenant", "SubscribeThread"), "NOT_YOURS"),
    }
    for what, call in calls(me, mine).items():
        assert await reason_of(call) == expected.get(what, "OK"), what
    assert [one.id for one in (await me.sessions.ListSessions(pb.ListSessionsRequest())).sessions] == [mine]
