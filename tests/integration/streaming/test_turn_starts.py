"""A turn begins in steps, with planning in between (design/planning.md P.1): never without its snapshot, whatever is
lost on the way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import grpc
import pytest

from services.engines import Engines
from services.kernel.errors import NotAllowed
from services.kernel.postgres import Database
from services.kernel.principal import LOCAL, Principal
from services.kernel.settings import load
from services.streaming.settings import StreamingSettings
from tests.fakes.planning_service import FakePlanning
from tests.integration.streaming.agent_runner import running
from tests.integration.streaming.client import Streaming, body
from tests.integration.streaming.conftest import _replica
from tests.integration.streaming.test_external import close_turn, open_turn
from tests.integration.streaming.test_turn_records import turn_of
from tests.integration.streaming.test_turns import get, prompt, reached, refused, told
from tests.ports import free_port
from tests.stack import Process
from treadle.streaming.v1 import session_service_pb2 as pb

State = pb.Session.State
START_SECONDS = 3
Start = Callable[[], Awaitable[Streaming]]
Launch = Callable[[], Awaitable[tuple[Process, Streaming]]]


@pytest.fixture
async def planning(stack: AsyncExitStack) -> FakePlanning:
    """Planning, up."""
    one = FakePlanning()
    await one.start()
    stack.push_async_callback(one.stop)
    return one


@pytest.fixture
def replica(database_url: str, nats_url: str, stack: AsyncExitStack, planning: FakePlanning) -> Start:
    """One more replica, in this process, that asks planning."""

    async def start() -> Streaming:
        settings = load(
            StreamingSettings,
            listen="127.0.0.1:0",
            streaming_database_url=database_url,
            nats_url=nats_url,
            drain_seconds=5,
            planning_target=planning.address,
            turn_start_seconds=START_SECONDS,
        )
        return await _replica(settings, stack)

    return start


@pytest.fixture
async def launch(
    database_url: str, nats_url: str, tmp_path: Path, stack: AsyncExitStack, planning: FakePlanning
) -> AsyncIterator[Launch]:
    """One more replica, in a process of its own, that asks planning."""
    processes: list[Process] = []

    async def start() -> tuple[Process, Streaming]:
        address = f"127.0.0.1:{free_port()}"
        settings = {
            "TREADLE_LISTEN": address,
            "TREADLE_STREAMING_DATABASE_URL": database_url,
            "TREADLE_NATS_URL": nats_url,
            "TREADLE_DRAIN_SECONDS": "5",
            "TREADLE_PLANNING_TARGET": planning.address,
            "TREADLE_TURN_START_SECONDS": str(START_SECONDS),
        }
        log = tmp_path / f"streaming-{len(processes)}.log"
        process = Process("streaming", ["-m", "services.streaming"], settings, log)
        processes.append(process)
        await process.start()
        channel = grpc.aio.insecure_channel(address)
        stack.push_async_callback(channel.close)
        async with asyncio.timeout(30):
            await channel.channel_ready()
        return process, Streaming(channel)

    yield start
    for process in processes:
        if process.running:
            with suppress(ProcessLookupError):
                await process.end()


def id_of(name: str) -> str:
    return name.partition("/")[2]


async def test_planning_keeps_a_snapshot_under_the_turns_number_before_the_agent_hears_of_it(
    replica: Start, planning: FakePlanning
) -> None:
    streaming = await replica()
    name, outside = await streaming.session(), await streaming.session(adapter="external")
    assert planning.workspaces == {id_of(name), id_of(outside)}
    async with running(streaming) as runner, streaming.listening(name) as reader:
        planning.hold(keeps_before=False)
        asking = asyncio.create_task(prompt(streaming, name, "one", "k"))
        await planning.held.wait()
        session = await get(streaming, name)
        assert (session.state, session.turn_id) == (State.STATE_IDLE, "")
        busy = await refused(prompt(streaming, name, "two"), "TURN_RUNNING")
        assert busy["state"] == "starting"
        starting = await turn_of(streaming, name, busy["turn"])
        assert (starting.number, starting.live, starting.state) == (1, False, State.STATE_RUNNING)
        await refused(streaming.sessions.AbortSession(pb.AbortSessionRequest(name=name)), "TURN_NOT_RUNNING")
        assert await runner.claim_jobs(1, 0) == []
        assert told(reader, "prompt") == []
        planning.free.set()
        turn = await asking
        assert turn == busy["turn"]
        assert planning.turns[id_of(name)] == {1: turn}
        held = await runner.take()
        assert (await held.command("prompt")).prompt.text == "one"
        await held.settle(turn, final_text="done")
        second = await prompt(streaming, name, "two")
        assert (await held.command("prompt")).turn_id == second
        assert planning.turns[id_of(name)] == {1: turn, 2: second}
        await reader.until(lambda one: len(told(one, "prompt")) == 2)
    mine = await open_turn(streaming, outside)
    assert planning.turns[id_of(outside)] == {1: mine}
    await close_turn(streaming, outside, "end")
    assert set(planning.actors) == {"user:local"}
    assert planning.callers == {Principal(LOCAL.tenant, "streaming", "service", frozenset({"reviewer"}))}


async def test_without_planning_the_turn_has_failed_and_the_same_request_may_try_again(
    replica: Start, planning: FakePlanning, database: Database
) -> None:
    streaming = await replica()
    name = await streaming.session()
    await planning.stop()
    async with streaming.listening(name) as reader, streaming.of_tenant() as feed:
        await refused(prompt(streaming, name, "one", "k"), "PLANNING_UNAVAILABLE")
        failed = await get(streaming, name)
        assert (failed.state, failed.code, failed.turn) == (State.STATE_FAILED, "start_failed", 1)
        ended = await turn_of(streaming, name)
        assert (ended.code, ended.said, ended.number, ended.HasField("end_time")) == ("start_failed", False, 1, True)
        async with database.connection() as tx:
            assert await tx.raw.fetchval("SELECT count(*) FROM jobs") == 0
        await planning.start()
        turn = await prompt(streaming, name, "one", "k")
        assert planning.turns[id_of(name)] == {2: turn}
        assert (await get(streaming, name)).turn == 2
        await reader.until(lambda one: len(told(one, "turn")) == 3)
        shown = [("turn", "idle"), ("turn", "failed"), ("prompt", "one"), ("turn", "running")]
        assert told(reader, "turn", "prompt") == shown  # what was refused is no part of the conversation
        await feed.until(lambda one: sum(body(f)["kind"] == "turn" for f in one.frames) == 2)
        facts = [body(f) for f in feed.frames if body(f)["kind"] == "turn"]
        assert [(one["turn_id"], one["to"], one["outcome"]) for one in facts] == [
            (ended.id, "failed", "start_failed"),
            (turn, "running", ""),
        ]


async def test_a_workspace_that_could_not_be_made_at_once_is_made_when_planning_is_back(
    replica: Start, planning: FakePlanning
) -> None:
    streaming = await replica()
    await planning.stop()
    names = await asyncio.gather(*(streaming.session() for _ in range(3)))
    assert planning.workspaces == set()
    await planning.start()
    async with asyncio.timeout(20):
        while planning.workspaces != {id_of(name) for name in names}:
            await asyncio.sleep(0.02)


async def test_of_many_prompts_at_once_one_begins_a_turn(replica: Start, planning: FakePlanning) -> None:
    streaming, other = await replica(), await replica()
    name = await streaming.session()
    both = (streaming, other)
    asked = await asyncio.gather(
        *(prompt(both[n % 2], name, f"text {n}", f"key-{n}") for n in range(16)), return_exceptions=True
    )
    turns = [one for one in asked if isinstance(one, str)]
    assert len(turns) == 1
    assert planning.turns[id_of(name)] == {1: turns[0]}
    same = await streaming.session()
    repeated = await asyncio.gather(*(prompt(both[n % 2], same, "go", "key") for n in range(16)))
    assert len(set(repeated)) == 1
    assert planning.turns[id_of(same)] == {1: repeated[0]}
    async with streaming.listening(same) as reader:
        await reader.until(lambda one: len(told(one, "turn")) >= 2)
        assert told(reader, "prompt") == [("prompt", "go")]


@pytest.mark.parametrize(
    ("refusal", "reason"),
    [
        (NotAllowed("BRANCH_FORKING", "x"), "SESSION_FORKING"),
        (NotAllowed("SESSION_DELETED", "x"), "SESSION_DELETED"),
        (NotAllowed("TURN_ENDED", "x"), "PLANNING_UNAVAILABLE"),
    ],
)
async def test_what_planning_refuses_is_refused_and_no_agent_is_started(
    replica: Start, planning: FakePlanning, refusal: NotAllowed, reason: str
) -> None:
    streaming = await replica()
    name = await streaming.session()
    planning.refuse = refusal
    await refused(prompt(streaming, name), reason)
    assert (await get(streaming, name)).code == "start_failed"
    planning.refuse = None
    await prompt(streaming, name)


async def test_who_is_behind_planning_takes_a_higher_number_next_time(replica: Start, planning: FakePlanning) -> None:
    streaming = await replica()
    name = await streaming.session()
    planning.turns[id_of(name)] = {7: "trn_of_before"}
    await refused(prompt(streaming, name, "go", "k"), "PLANNING_UNAVAILABLE")
    turn = await prompt(streaming, name, "go", "k")
    assert planning.turns[id_of(name)][8] == turn
    assert (await turn_of(streaming, name)).number == 8


async def test_a_session_that_is_deleted_while_its_turn_starts_has_no_turn(
    replica: Start, planning: FakePlanning, database: Database
) -> None:
    streaming = await replica()
    name = await streaming.session()
    planning.hold(keeps_before=True)
    asking = asyncio.create_task(prompt(streaming, name))
    await planning.held.wait()
    await streaming.sessions.BatchDeleteSessions(pb.BatchDeleteSessionsRequest(ids=[id_of(name)]))
    planning.free.set()
    await refused(asking, "SESSION_NOT_FOUND")
    async with database.connection() as tx:
        assert await tx.raw.fetchval("SELECT count(*) FROM jobs") == 0


async def test_pub07_starts_that_fell_into_two_seconds_without_the_database_are_over_when_it_is_back(
    replica: Start, planning: FakePlanning, database_url: str, servers: Engines
) -> None:
    streaming = await replica()
    names = [await streaming.session() for _ in range(3)]
    planning.hold(keeps_before=True)
    asked = [asyncio.create_task(prompt(streaming, name)) for name in names]
    async with asyncio.timeout(30):
        while planning.asked < 3:
            await asyncio.sleep(0.01)
    admin = await asyncpg.connect(servers.admin_url())
    base = urlsplit(database_url).path.removeprefix("/")
    try:
        await admin.execute(f'ALTER DATABASE "{base}" ALLOW_CONNECTIONS false')
        await admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", base)
        outcomes = await asyncio.gather(*asked, return_exceptions=True)  # planning has two seconds to answer
    finally:
        await admin.execute(f'ALTER DATABASE "{base}" ALLOW_CONNECTIONS true')
        await admin.close()
    assert all(isinstance(one, grpc.aio.AioRpcError) for one in outcomes)
    planning.free.set()
    for name in names:
        async with asyncio.timeout(60):
            while True:
                with suppress(grpc.aio.AioRpcError):
                    assert (await reached(streaming, name, State.STATE_FAILED)).code == "start_failed"
                    break
        await prompt(streaming, name)
        assert sorted(planning.turns[id_of(name)]) == [1, 2]


@pytest.mark.parametrize("goes_on", [True, False])
@pytest.mark.parametrize(
    "at", ["before planning hears", "before planning keeps", "before planning answers", "before T2"]
)
async def test_kill_9_at_any_step_of_a_start_loses_nothing_and_doubles_nothing(
    launch: Launch, planning: FakePlanning, database_url: str, at: str, goes_on: bool
) -> None:
    process, killed = await launch()
    _, other = await launch()
    name = await other.session()
    raw = await asyncpg.connect(database_url)
    try:
        if at == "before planning hears":
            await planning.stop()
        elif at != "before T2":
            planning.hold(keeps_before=at == "before planning answers")
        else:
            planning.hold(keeps_before=False)
        asking = asyncio.create_task(prompt(killed, name, "go", "key"))
        if at == "before planning hears":
            async with asyncio.timeout(10):
                while not (starting := await raw.fetchval("SELECT starting FROM sessions")):
                    await asyncio.sleep(0.01)
        else:
            await planning.held.wait()
            starting = await raw.fetchval("SELECT starting FROM sessions")
        if at == "before T2":
            async with raw.transaction():  # T2 waits for the session's row
                await raw.execute("SELECT * FROM sessions FOR UPDATE")
                planning.free.set()
                async with asyncio.timeout(10):
                    while not await raw.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted"):
                        await asyncio.sleep(0.01)
                await process.kill()
        else:
            await process.kill()
        with pytest.raises(grpc.aio.AioRpcError):
            await asking
        planning.free.set()
        if at == "before planning hears":
            await planning.start()
        if goes_on:
            assert await prompt(other, name, "go", "key") == starting
            number = 1
        else:
            failed = await reached(other, name, State.STATE_FAILED)
            assert (failed.code, failed.turn_id, failed.turn) == ("start_failed", starting, 1)
            number = 2
            assert await prompt(other, name, "go", "key") != starting
        turn = await turn_of(other, name)
        assert (turn.number, turn.live) == (number, True)
        assert planning.turns[id_of(name)][number] == turn.id
        assert set(planning.turns[id_of(name)]) <= {1, 2}
        async with running(other) as runner, other.listening(name) as reader:
            held = await runner.take()
            await held.command("prompt")
            await held.settle(turn.id, final_text="done")
            await reader.until(lambda one: told(one, "turn")[-2:] == [("turn", "running"), ("turn", "idle")])
            assert told(reader, "prompt") == [("prompt", "go")]
    finally:
        await raw.close()
