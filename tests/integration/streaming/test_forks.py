"""Branches: a session made out of another one's past, which then owes it nothing (planning P.3, C6; streaming S.7)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Any

import pytest

from services.kernel.bus import Bus
from services.kernel.clock import SystemClock
from services.kernel.grpc_client import open_channel
from services.kernel.ids import new_id
from services.kernel.postgres import Database
from services.kernel.principal import Authenticator, Kind, Principal
from services.streaming.adapters.agent_rows import PostgresAgents
from services.streaming.adapters.session_log import JetStreamSessionLog
from services.streaming.application.purging import purge
from tests.integration.streaming.agent_runner import FakeRunner, Held, running
from tests.integration.streaming.client import Streaming, body
from tests.integration.streaming.test_access import SECRET, address  # noqa: F401 - a fixture
from tests.integration.streaming.test_external import close_turn, open_turn
from tests.integration.streaming.test_own_session import reason_of
from tests.integration.streaming.test_turn_records import turn_of
from tests.integration.streaming.test_turns import get, prompt, refused, told
from treadle.streaming.v1 import fork_service_pb2 as forks
from treadle.streaming.v1 import runner_service_pb2 as runners
from treadle.streaming.v1 import session_service_pb2 as pb
from treadle.streaming.v1.fork_service_pb2_grpc import ForkServiceStub

State = pb.Session.State
TABLES = ("sessions", "turns", "messages", "agent_states", "ledger", "gates", "session_commands")


class Forker:
    """Planning's side, by hand."""

    def __init__(self, streaming: Streaming) -> None:
        self.stub = ForkServiceStub(streaming.channel)

    async def fork(self, name: str, turn: int, session_id: str = "", **fields: str) -> pb.Session:
        request = forks.ForkSessionRequest(name=name, turn=turn, session_id=session_id or new_id("ses"), **fields)
        return await self.stub.ForkSession(request)

    async def finish(self, name: str) -> pb.Session:
        return await self.stub.FinishFork(forks.FinishForkRequest(name=name))

    async def abandon(self, name: str) -> bool:
        return (await self.stub.AbandonFork(forks.AbandonForkRequest(name=name))).deleted

    async def ready(self, name: str, turn: int, **fields: str) -> pb.Session:
        return await self.finish((await self.fork(name, turn, **fields)).name)


@pytest.fixture
def forker(streaming: Streaming) -> Forker:
    """At the one replica."""
    return Forker(streaming)


@pytest.fixture
async def runner(streaming: Streaming) -> AsyncIterator[FakeRunner]:
    """One that is there."""
    async with running(streaming) as one:
        yield one


async def turns(streaming: Streaming, held: Held, name: str, *numbers: int) -> None:
    """Turns of an agent whose state is `state {n}` after each."""
    for number in numbers:
        turn = await prompt(streaming, name, f"text {number}")
        await held.command("prompt")
        usage = runners.Usage(input_tokens=number, output_tokens=1)
        await held.settle(turn, final_text=f"answer {number}", usage=usage)
        assert not (await held.upload(turn, f"state {number}".encode())).reason


async def begun(streaming: Streaming, runner: FakeRunner, count: int) -> tuple[str, Held]:
    """A session with so many turns, and its agent."""
    name = await streaming.session(model="m-1", thinking="high", title="the origin")
    first = await prompt(streaming, name, "text 1")
    held = await runner.take()
    await held.command("prompt")
    await held.settle(first, final_text="answer 1", usage=runners.Usage(input_tokens=1, output_tokens=1))
    await held.upload(first, b"state 1")
    await turns(streaming, held, name, *range(2, count + 1))
    return name, held


async def texts(streaming: Streaming, name: str) -> list[tuple[int, int, str]]:
    page = await streaming.sessions.ListMessages(pb.ListMessagesRequest(parent=name))
    return [(one.sequence, one.turn, one.text) for one in page.messages]


async def state_for(runner: FakeRunner, held: Held) -> bytes:
    """The agent's state that a job names."""
    request = runners.ReadAgentStateRequest(
        job_id=held.job.id, fence=held.job.fence, digest=held.payload["agent_state"]
    )
    return b"".join([chunk.data async for chunk in runner.streaming.runners.ReadAgentState(request)])


async def rows_of(database: Database, session: str) -> dict[str, list[Any]]:
    async with database.connection() as tx:
        return {
            table: await tx.raw.fetch(
                f"SELECT * FROM {table} WHERE {'id' if table == 'sessions' else 'session_id'} = $1 ORDER BY 1, 2, 3",
                session,
            )
            for table in TABLES
        }


async def test_a_branch_has_the_past_up_to_its_turn_and_goes_on_from_there_alone(
    streaming: Streaming, forker: Forker, runner: FakeRunner, database: Database
) -> None:
    name, _ = await begun(streaming, runner, 3)
    before = await rows_of(database, name.partition("/")[2])
    given = new_id("ses")
    async with streaming.of_tenant() as feed:
        made = await forker.fork(name, 2, given, title="another way", actor="user:ada")
        assert (made.id, made.forked_from, made.fork_turn, made.forking) == (given, name, 2, True)
        assert (made.title, made.model, made.thinking, made.adapter) == ("another way", "m-1", "high", "scripted")
        assert (made.state, made.outcome, made.turn, made.generation) == (State.STATE_IDLE, "ok", 2, 1)
        await feed.until(lambda one: any(body(f)["session_id"] == given for f in one.frames))
        (told_of,) = [body(f) for f in feed.frames if body(f)["session_id"] == given]
        assert (told_of["kind"], told_of["actor"]) == ("created", "user:ada")
    for call in (
        prompt(streaming, made.name),
        streaming.sessions.ResumeSession(pb.ResumeSessionRequest(name=made.name)),
    ):
        await refused(call, "SESSION_FORKING")
    assert not (await forker.finish(made.name)).forking
    assert not (await forker.finish(made.name)).forking  # twice is once
    past = [(1, 1, "text 1"), (2, 1, "answer 1"), (3, 2, "text 2"), (4, 2, "answer 2")]
    assert await texts(streaming, made.name) == past
    assert await rows_of(database, name.partition("/")[2]) == before
    newest, there = await turn_of(streaming, made.name), await turn_of(streaming, name)
    assert (newest.number, newest.outcome, newest.tokens, newest.said) == (2, "ok", 3, True)
    async with database.connection() as tx:
        happened = [row["id"] for row in before["turns"] if row["number"] == 2]
        assert [newest.origin_turn_id] == happened
        ids = await tx.raw.fetch("SELECT id FROM turns")
        assert len({row["id"] for row in ids}) == len(ids)  # fresh ones
    assert there.origin_turn_id == ""
    turn = await prompt(streaming, made.name, "text 3, otherwise")
    held = await runner.take()
    assert held.job.session == made.name
    assert await state_for(runner, held) == b"state 2"
    await held.command("prompt")
    await held.settle(turn, final_text="answer 3, otherwise")
    assert await texts(streaming, made.name) == [*past, (5, 3, "text 3, otherwise"), (6, 3, "answer 3, otherwise")]
    assert (await turn_of(streaming, made.name)).number == 3
    assert await texts(streaming, name) == [*past, (5, 3, "text 3"), (6, 3, "answer 3")]
    async with streaming.listening(made.name) as reader:
        await reader.until(lambda one: told(one, "turn")[-1:] == [("turn", "idle")] and len(told(one, "turn")) == 3)
        assert told(reader, "prompt") == [("prompt", "text 3, otherwise")]


async def test_deleting_the_origin_leaves_its_branches_as_they_are_and_they_branch_on(
    streaming: Streaming, forker: Forker, runner: FakeRunner, database: Database, bus: Bus
) -> None:
    name, _ = await begun(streaming, runner, 3)
    one = await forker.ready(name, 3)
    async with database.connection() as tx:
        await streaming.sessions.BatchDeleteSessions(pb.BatchDeleteSessionsRequest(ids=[name.partition("/")[2]]))
        await tx.raw.execute("UPDATE sessions SET deleted_at = deleted_at - interval '11 minutes'")

        async def nothing() -> None:
            return None

        await purge(PostgresAgents(database, timedelta(seconds=9)), JetStreamSessionLog(bus, nothing), SystemClock())
        async with asyncio.timeout(20):
            while await tx.raw.fetchval("SELECT count(*) FROM turns WHERE session_id = $1", name.partition("/")[2]):
                await asyncio.sleep(0.01)
        first = await tx.raw.fetch("SELECT number, id, origin_turn_id FROM turns WHERE session_id = $1", one.id)
    assert len(await texts(streaming, one.name)) == 6
    two = await forker.ready(one.name, 2)
    async with database.connection() as tx:
        second = await tx.raw.fetch("SELECT number, id, origin_turn_id FROM turns WHERE session_id = $1", two.id)
    known = {row["number"]: row["origin_turn_id"] for row in first}
    assert {row["number"]: row["origin_turn_id"] for row in second} == {1: known[1], 2: known[2]}  # where it happened
    for branch, state in ((one, b"state 3"), (two, b"state 2")):
        await prompt(streaming, branch.name)
        held = await runner.take()
        assert held.job.session == branch.name
        assert await state_for(runner, held) == state
    await refused(forker.fork(name, 1), "SESSION_NOT_FOUND")


async def test_states_of_older_turns_are_shared_by_content_and_inherited_in_the_end(
    streaming: Streaming, forker: Forker, runner: FakeRunner, database: Database, bus: Bus
) -> None:
    name, _ = await begun(streaming, runner, 4)
    one = await forker.ready(name, 4)
    two = await forker.ready(one.name, 3)
    ids = [name.partition("/")[2], one.id]

    async def holders() -> list[tuple[str, int]]:
        async with database.connection() as tx:
            rows = await tx.raw.fetch("SELECT session_id, count(*) AS n FROM agent_states GROUP BY 1 ORDER BY 1")
        return [(row["session_id"], row["n"]) for row in rows]

    assert await holders() == [(ids[0], 4), (one.id, 1), (two.id, 1)]
    await streaming.sessions.BatchDeleteSessions(pb.BatchDeleteSessionsRequest(ids=ids))
    async with database.connection() as tx:
        await tx.raw.execute("UPDATE sessions SET deleted_at = deleted_at - interval '11 minutes'")

    async def nothing() -> None:
        return None

    log = JetStreamSessionLog(bus, nothing)
    rows = [PostgresAgents(database, timedelta(seconds=9)) for _ in range(2)]
    await asyncio.gather(*(purge(one, log, SystemClock()) for one in rows))  # as two replicas do
    async with asyncio.timeout(20):
        while await holders() != [(two.id, 3)]:  # what the branch's turns use, and nothing else
            await asyncio.sleep(0.01)
    three = await forker.ready(two.name, 1)
    await prompt(streaming, three.name)
    assert await state_for(runner, await runner.take()) == b"state 1"


async def test_the_same_fork_twice_is_as_good_as_once(
    streaming: Streaming, forker: Forker, runner: FakeRunner, database: Database
) -> None:
    name, _ = await begun(streaming, runner, 2)
    given, other = new_id("ses"), await streaming.session()
    made = await asyncio.gather(*(forker.fork(name, 2, given) for _ in range(8)))
    assert {one.name for one in made} == {f"sessions/{given}"}
    async with database.connection() as tx:
        assert await tx.raw.fetchval("SELECT count(*) FROM turns WHERE session_id = $1", given) == 2
        assert await tx.raw.fetchval("SELECT count(*) FROM messages WHERE session_id = $1", given) == 4
    await refused(forker.fork(name, 1, given), "SESSION_EXISTS")
    await refused(forker.fork(other, 2, given), "SESSION_EXISTS")
    await refused(forker.fork(name, 1, other.partition("/")[2]), "SESSION_EXISTS")
    await forker.finish(made[0].name)
    assert not (await forker.fork(name, 2, given)).forking  # a repeat that comes late undoes nothing
    async with streaming.listening(made[0].name) as reader:
        assert [frame.event for frame in await reader.level()] == ["status", "turn"]


async def test_what_cannot_be_forked_is_refused_and_nothing_of_it_is_there(
    streaming: Streaming, forker: Forker, runner: FakeRunner
) -> None:
    name, _ = await begun(streaming, runner, 1)
    running_turn = await prompt(streaming, name, "text 2")
    given = new_id("ses")
    assert (await refused(forker.fork(name, 2, given), "TURN_RUNNING"))["turn"] == running_turn
    await refused(forker.fork(name, 3, given), "TURN_NOT_FOUND")
    await refused(forker.fork(name, -1, given), "INVALID_ARGUMENT")
    await refused(forker.fork(name, 1, "ses_x"), "INVALID_ARGUMENT")
    await refused(forker.fork(name, 1, name.partition("/")[2]), "INVALID_ARGUMENT")
    await refused(forker.fork(name, 1, given, title="two\nlines"), "INVALID_ARGUMENT")
    await refused(forker.fork(name, 1, given, actor="nobody"), "INVALID_ARGUMENT")
    await refused(forker.fork("sessions/" + new_id("ses"), 1, given), "SESSION_NOT_FOUND")
    await refused(get(streaming, f"sessions/{given}"), "SESSION_NOT_FOUND")
    half = await forker.fork(name, 1)
    await refused(forker.fork(half.name, 1), "SESSION_FORKING")
    assert [one.turn for one in (half, await forker.ready(name, 0))] == [1, 0]


async def test_a_branch_from_before_the_first_turn_and_one_from_a_failed_turn(
    streaming: Streaming, forker: Forker
) -> None:
    name = await streaming.session(adapter="external")
    await open_turn(streaming, name, "one")
    await close_turn(streaming, name, "half", outcome="failed")
    empty, failed = await forker.ready(name, 0), await forker.ready(name, 1)
    assert (empty.turn, empty.turn_id, empty.state, await texts(streaming, empty.name)) == (0, "", State.STATE_IDLE, [])
    assert (failed.state, failed.code, failed.outcome) == (State.STATE_FAILED, "provider_error", "")
    for branch, number in ((empty, 1), (failed, 2)):
        await open_turn(streaming, branch.name)
        assert (await turn_of(streaming, branch.name)).number == number


async def test_a_fork_waits_for_the_state_that_the_agent_is_handing_over(
    streaming: Streaming, forker: Forker, runner: FakeRunner
) -> None:
    name, held = await begun(streaming, runner, 1)
    turn = await prompt(streaming, name, "text 2")
    await held.command("prompt")
    await held.settle(turn, final_text="answer 2")
    given = new_id("ses")
    await refused(forker.fork(name, 2, given), "AGENT_STATE_PENDING")
    await held.upload(turn, b"state 2")
    await forker.finish((await forker.fork(name, 2, given)).name)
    await prompt(streaming, f"sessions/{given}")
    assert await state_for(runner, await runner.take()) == b"state 2"
    last = await prompt(streaming, name, "text 3")
    await held.command("prompt")
    await held.settle(last, final_text="answer 3")
    async with asyncio.timeout(15):  # one that is never handed over is not waited for
        while await reason_of(lambda: forker.fork(name, 3)) != "OK":
            await asyncio.sleep(0.1)


async def test_a_branch_that_is_given_up_is_gone_and_cannot_come_back(streaming: Streaming, forker: Forker) -> None:
    name = await streaming.session(adapter="external")
    await open_turn(streaming, name)
    await close_turn(streaming, name)
    made = await forker.fork(name, 1)
    async with streaming.listening(made.name) as reader:
        await reader.level()
        assert await forker.abandon(made.name)
        await reader.ended.wait()
        assert reader.frames[-1].event == "deleted"
    assert not await forker.abandon(made.name)
    await refused(get(streaming, made.name), "SESSION_NOT_FOUND")
    await refused(forker.fork(name, 1, made.id), "SESSION_DELETED")
    await refused(forker.finish(made.name), "SESSION_NOT_FOUND")
    early = new_id("ses")  # given up before its fork came
    assert not await forker.abandon(f"sessions/{early}")
    await refused(forker.fork(name, 1, early), "SESSION_DELETED")
    finished = await forker.ready(name, 1)
    for whole in (finished.name, name):
        await refused(forker.abandon(whole), "NOT_FORKING")
        assert (await get(streaming, whole)).name == whole
    await refused(forker.finish(name), "NOT_FORKING")
    listed = await streaming.sessions.ListSessions(pb.ListSessionsRequest())
    assert {one.name for one in listed.sessions} == {name, finished.name}


async def test_only_a_service_of_the_tenant_forks(address: str, stack: AsyncExitStack) -> None:  # noqa: F811
    def at(tenant: str, kind: Kind, *roles: str) -> Streaming:
        principal = Principal(tenant, "planning", kind, frozenset(roles))
        token = Authenticator(SECRET, SystemClock()).mint(principal, timedelta(minutes=5))
        channel = open_channel(address, lambda: f"Bearer {token}")
        stack.push_async_callback(channel.close)
        return Streaming(channel)

    person = at("one", "user", "reviewer")
    name = await person.session(adapter="external")

    def calls(forker: Forker) -> dict[str, Callable[[], Awaitable[Any]]]:
        return {
            "fork": lambda: forker.fork(name, 0),
            "finish": lambda: forker.finish(name),
            "abandon": lambda: forker.abandon(name),
        }

    denied = [
        ("user", "reviewer"),
        ("agent", "agent"),
        ("service", "runner"),
        ("service", "viewer"),
        ("user", "viewer"),
    ]
    for kind, role in denied:
        for what, call in calls(Forker(at("one", kind, role))).items():  # type: ignore[arg-type]
            assert await reason_of(call) == "ROLE_REQUIRED", (kind, role, what)
    for kind, role in (("service", "reviewer"), ("user", "admin")):
        assert (await Forker(at("one", kind, role)).fork(name, 0)).forking  # type: ignore[arg-type]
    assert await reason_of(lambda: Forker(at("two", "service", "reviewer")).fork(name, 0)) == "SESSION_NOT_FOUND"
