"""Where planning and streaming meet (design/planning.md P.1, P.3): both for real, and the fakes that each is tested
with, under the real ones' rules."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from itertools import count
from typing import Any, NamedTuple

import grpc
import pytest

from services.kernel.errors import Refusal
from services.kernel.grpc_client import open_channel
from services.kernel.grpc_errors import refusal_from
from services.kernel.ids import new_id
from services.kernel.lifecycle import Lifecycle
from services.kernel.settings import load
from services.planning.main import build as build_planning
from services.planning.settings import PlanningSettings
from services.streaming.main import build as build_streaming
from services.streaming.settings import StreamingSettings
from tests.conftest import MakeDatabase
from tests.fakes.fork_service import FakeForks, serving_forks
from tests.fakes.planning_service import FakePlanning
from tests.integration.planning.client import SECRET, Planning, refused, state, texts, token
from tests.integration.streaming.client import Streaming
from tests.integration.streaming.test_external import close_turn, open_turn
from tests.nats_server import NatsServer
from tests.ports import free_port
from treadle.planning.v1 import planning_service_pb2 as plans
from treadle.planning.v1 import workspace_service_pb2 as workspaces
from treadle.planning.v1.workspace_service_pb2_grpc import WorkspaceServiceStub
from treadle.streaming.v1 import fork_service_pb2 as forks
from treadle.streaming.v1 import session_service_pb2 as pb
from treadle.streaming.v1.fork_service_pb2_grpc import ForkServiceStub


class Both(NamedTuple):
    """The two services, asked by a person."""

    streaming: Streaming
    planning: Planning

    async def session(self) -> str:
        """Its id."""
        return (await self.streaming.session(adapter="external")).partition("/")[2]

    async def turn(self, session: str, words: str) -> None:
        """A whole turn."""
        await open_turn(self.streaming, f"sessions/{session}", words)
        await close_turn(self.streaming, f"sessions/{session}", f"{words}!")

    async def said(self, session: str) -> list[str]:
        """The messages."""
        page = await self.streaming.sessions.ListMessages(pb.ListMessagesRequest(parent=f"sessions/{session}"))
        return [one.text for one in page.messages]

    async def heard(self, session: str, turns: int) -> None:
        """Waits until planning knows that so many turns have ended."""
        async with asyncio.timeout(60):
            while sum(not one.running for one in await self.planning.turns(session)) < turns:
                await asyncio.sleep(0.01)


async def until_refused(reason: str, call: Callable[[], Awaitable[object]]) -> None:
    """Waits until planning has heard of a deletion."""
    async with asyncio.timeout(60):
        while True:
            try:
                await call()
            except Refusal as refusal:
                if refusal.reason == reason:
                    return
                raise
            await asyncio.sleep(0.01)


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    """Closed at the end of the test, in reverse."""
    async with AsyncExitStack() as one:
        yield one


@pytest.fixture
async def both(make_database: MakeDatabase, nats_url: str, stack: AsyncExitStack) -> Both:
    """One replica of each, which know each other."""
    shared: dict[str, Any] = {"nats_url": nats_url, "auth_secret": SECRET, "drain_seconds": 5}
    at = f"127.0.0.1:{free_port()}"
    planning = load(
        PlanningSettings,
        **shared,
        listen="127.0.0.1:0",
        planning_database_url=await make_database("planning"),
        streaming_target=at,
    )
    planned = await build_planning(planning, await stack.enter_async_context(Lifecycle("planning", 5)))
    streaming = load(
        StreamingSettings,
        **shared,
        listen=at,
        streaming_database_url=await make_database("streaming"),
        planning_target=planned.address,
    )
    await build_streaming(streaming, await stack.enter_async_context(Lifecycle("streaming", 5)))
    channels = [open_channel(at, token), open_channel(planned.address)]
    for channel in channels:
        stack.push_async_callback(channel.close)
    return Both(Streaming(channels[0]), Planning(channels[1]))


async def test_one_conversation_goes_on_from_any_turn_in_both_halves(both: Both) -> None:
    session = await both.session()
    assert texts(await both.planning.plan(session)) == []  # there from the beginning
    await both.turn(session, "one")
    await both.heard(session, 1)
    await both.planning.add(session, "a", "b")  # between turns: belongs to turn 1
    await both.turn(session, "two")
    await both.heard(session, 2)
    await both.planning.add(session, "c")
    await both.turn(session, "three")
    await both.heard(session, 3)
    known = await both.planning.turns(session)
    assert [(one.number, one.outcome) for one in known] == [(1, "ok"), (2, "ok"), (3, "ok")]
    kept = state(await both.planning.restore(session, 1))
    made = await both.planning.branch(session, 1, title="again")
    assert (await both.planning.ready(made.session_id)).state == plans.Branch.STATE_READY
    branch = made.session_id
    shown = await both.streaming.sessions.GetSession(pb.GetSessionRequest(name=f"sessions/{branch}"))
    assert (shown.forked_from, shown.fork_turn, shown.turn, shown.forking) == (f"sessions/{session}", 1, 1, False)
    assert shown.title == "again"
    assert await both.said(branch) == ["one", "one!"]
    assert texts(await both.planning.plan(branch)) == ["a", "b"]
    assert state(await both.planning.restore(branch, 1)) == kept
    newest = await both.streaming.sessions.GetTurn(pb.GetTurnRequest(name=shown.name))
    assert newest.origin_turn_id == known[0].turn_id  # one node of the graph
    await both.turn(branch, "two, otherwise")
    await both.heard(branch, 2)
    assert [one.number for one in await both.planning.turns(branch)] == [1, 2]
    assert await both.said(session) == ["one", "one!", "two", "two!", "three", "three!"]
    graph = await both.planning.graph(session)
    assert [(one.number, one.session_id == branch) for one in graph.nodes] == [
        (1, False),
        (2, False),
        (3, False),
        (2, True),
    ]
    await both.streaming.sessions.BatchDeleteSessions(pb.BatchDeleteSessionsRequest(ids=[session]))
    await until_refused("SESSION_NOT_FOUND", lambda: both.planning.plan(session))
    await both.turn(branch, "three, otherwise")
    assert texts(await both.planning.plan(branch)) == ["a", "b"]
    assert len(await both.said(branch)) == 6


async def test_branches_that_are_made_while_the_origin_goes_on_have_equal_halves(both: Both) -> None:
    session = await both.session()
    await both.turn(session, "turn 1")
    await both.planning.add(session, "step 1")
    await both.heard(session, 1)

    async def talk() -> None:
        for number in range(2, 16):
            await both.turn(session, f"turn {number}")
            await both.planning.add(session, f"step {number}")

    async def branch(_: int) -> str:
        turn = max(one.number for one in await both.planning.turns(session) if not one.running)
        made = await both.planning.branch(session, turn, fork=True)
        ready = await both.planning.ready(made.session_id)
        assert ready.state == plans.Branch.STATE_READY, ready.reason
        return made.session_id

    async def keep_branching() -> list[str]:
        return [await branch(n) for n in range(12)]

    talking = asyncio.create_task(talk())
    made = [one for some in await asyncio.gather(keep_branching(), keep_branching()) for one in some]
    await talking
    for one in made:
        said, steps = await both.said(one), texts(await both.planning.plan(one))
        turns = [known.number for known in await both.planning.turns(one)]
        assert said == [text for n in turns for text in (f"turn {n}", f"turn {n}!")]
        assert steps in ([f"step {n}" for n in turns], [f"step {n}" for n in turns[:-1]])
        await both.turn(one, "on")
    assert len(set(made)) == 24


@pytest.mark.parametrize("real", [True, False])
async def test_turns_begin_in_the_fake_as_they_do_in_planning(both: Both, real: bool, stack: AsyncExitStack) -> None:
    fake = FakePlanning()
    await fake.start(SECRET)
    stack.push_async_callback(fake.stop)
    channel = both.planning.channel if real else open_channel(fake.address)
    stack.push_async_callback(channel.close)
    stub: Any = WorkspaceServiceStub(channel)
    as_service = (("authorization", token("streaming", "service", "reviewer")),)
    session, other = new_id("ses"), new_id("ses")
    ids = [new_id("trn") for _ in range(4)]

    async def begin(number: int, turn_id: str, of: str = session) -> str:
        request = workspaces.BeginTurnRequest(session_id=of, number=number, turn_id=turn_id)
        try:
            answer = await stub.BeginTurn(request, metadata=as_service, timeout=60)
        except grpc.aio.AioRpcError as error:
            refusal = refusal_from(error)
            assert refusal is not None
            last = refusal.metadata.get("last", "")
            return f"{refusal.reason} {last}"
        return f"{answer.number} {answer.replayed}"

    for created in (True, False):
        request = workspaces.EnsureWorkspaceRequest(session_id=other)
        assert (await stub.EnsureWorkspace(request, metadata=as_service, timeout=60)).created is created
    assert await begin(1, ids[0]) == "1 False"  # a workspace that is missing is made
    assert await begin(1, ids[0]) == "1 True"
    assert await begin(1, ids[1]) == "TURN_STALE 1"
    assert await begin(2, ids[0]) == "TURN_STALE 1"
    assert await begin(5, ids[1]) == "5 False"  # any number above the last
    assert await begin(4, ids[2]) == "TURN_STALE 5"
    assert await begin(5, ids[1]) == "5 True"
    assert await begin(1, ids[3], other) == "1 False"


@pytest.mark.parametrize("real", [True, False])
async def test_sessions_are_forked_in_the_fake_as_they_are_in_streaming(
    both: Both, real: bool, stack: AsyncExitStack
) -> None:
    session = await both.session()
    await both.turn(session, "one")
    address = await stack.enter_async_context(serving_forks(FakeForks(), SECRET))
    channel = both.streaming.channel if real else open_channel(address)
    stack.push_async_callback(channel.close)
    stub: Any = ForkServiceStub(channel)
    as_service = (("authorization", token("planning", "service", "reviewer")),)

    async def ask(method: str, request: Any) -> str:
        try:
            answer = await getattr(stub, method)(request, metadata=as_service, timeout=60)
        except grpc.aio.AioRpcError as error:
            refusal = refusal_from(error)
            assert refusal is not None
            return refusal.reason
        return str(answer.deleted) if method == "AbandonFork" else "OK"

    async def fork(branch: str) -> str:
        return await ask("ForkSession", forks.ForkSessionRequest(name=f"sessions/{session}", turn=1, session_id=branch))

    async def finish(branch: str) -> str:
        return await ask("FinishFork", forks.FinishForkRequest(name=f"sessions/{branch}"))

    async def abandon(branch: str) -> str:
        return await ask("AbandonFork", forks.AbandonForkRequest(name=f"sessions/{branch}"))

    one, two, three = new_id("ses"), new_id("ses"), new_id("ses")
    assert await finish(one) == "SESSION_NOT_FOUND"
    assert [await fork(one), await fork(one)] == ["OK", "OK"]
    assert [await finish(one), await finish(one), await fork(one)] == ["OK", "OK", "OK"]
    assert await abandon(one) == "NOT_FORKING"
    assert [await fork(two), await abandon(two), await abandon(two)] == ["OK", "True", "False"]
    assert [await fork(two), await finish(two)] == ["SESSION_DELETED", "SESSION_NOT_FOUND"]
    assert [await abandon(three), await fork(three)] == ["False", "SESSION_DELETED"]


async def test_without_its_snapshot_no_turn_begins_in_a_session_that_planning_deleted(both: Both) -> None:
    session = await both.session()
    await both.turn(session, "one")
    await both.streaming.sessions.BatchDeleteSessions(pb.BatchDeleteSessionsRequest(ids=[session]))
    numbers = count(9)

    async def begin() -> None:
        request = workspaces.BeginTurnRequest(session_id=session, number=next(numbers), turn_id=new_id("trn"))
        await both.planning.streaming().internal("BeginTurn", request)

    await until_refused("SESSION_DELETED", begin)
    async with refused("SESSION_NOT_FOUND"):
        await both.planning.plan(session)


async def test_a_branchs_title_that_planning_takes_is_taken_by_streaming_too(both: Both) -> None:
    session = await both.session()
    await both.turn(session, "one")
    await both.heard(session, 1)
    for title in ("a\nb", "a\tb", "a\u2028b", "a\x85b", "a\x1bb", "a\u202eb", "a\u200bb", "é" * 201):
        async with refused("INVALID_ARGUMENT") as caught:
            await both.planning.branch(session, 1, fork=True, title=title)
        assert caught.value.metadata["field"] == "title"
    for title in ("", "  ", " plain ", "é" * 200, "\N{GRINNING FACE}"):
        made = await both.planning.branch(session, 1, fork=True, title=title)
        assert (await both.planning.ready(made.session_id)).state == plans.Branch.STATE_READY, title


async def test_while_nats_is_away_a_turn_that_is_over_holds_no_person_up(both: Both, nats_server: NatsServer) -> None:
    session = await both.session()
    await both.planning.add(session, "a", "b", "c")
    await both.turn(session, "one")
    await both.heard(session, 1)
    await nats_server.stop()
    await open_turn(both.streaming, f"sessions/{session}", "two")  # BeginTurn, and planning asks nothing back
    for call in (both.planning.move(session, 1, after_index=3), both.planning.restore(session, 2)):
        async with refused("TURN_IN_PROGRESS"):
            await call
    await close_turn(both.streaming, f"sessions/{session}", "two!")
    assert [one.running for one in await both.planning.turns(session)] == [False, True]  # it has heard of no end
    assert texts(await both.planning.move(session, 1, after_index=3)) == ["b", "c", "a"]
    assert [one.outcome for one in await both.planning.turns(session)] == ["ok", "ok"]
    await both.turn(session, "three")
    made = await both.planning.branch(session, 3, fork=True)  # streaming's half has to wait for NATS
    await nats_server.start()
    assert (await both.planning.ready(made.session_id)).state == plans.Branch.STATE_READY
    assert await both.said(made.session_id) == ["one", "one!", "two", "two!", "three", "three!"]
    await both.turn(session, "four")
    await both.heard(session, 4)
    assert [one.outcome for one in await both.planning.turns(session)] == ["ok"] * 4
