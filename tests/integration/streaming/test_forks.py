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


async def purged(streaming: Streaming, database: Database, bus: Bus, *names: str, deleted: bool = False) -> None:
    """The sessions are deleted, and the time after which that is for good is over; two replicas come at once."""
    ids = [name.removeprefix("sessions/") for name in names]
    if not deleted:
        answer = await streaming.sessions.BatchDeleteSessions(pb.BatchDeleteSessionsRequest(ids=ids))
        assert all(one.ok for one in answer.results), answer

    async def nothing() -> None:
        return None

    log = JetStreamSessionLog(bus, nothing)
    rows = [PostgresAgents(database, timedelta(seconds=9)) for _ in range(2)]
    async with asyncio.timeout(60), database.connection() as tx:
        while True:
            await tx.raw.execute("UPDATE sessions SET deleted_at = deleted_at - interval '11 minutes'")
            await asyncio.gather(*(purge(one, log, SystemClock()) for one in rows))
            of = "SELECT count(*) FROM sessions WHERE id = ANY($1) AND purged_at IS NULL"
            if not await tx.raw.fetchval(of, ids):
                return
            await asyncio.sleep(0.05)


async def kept(database: Database, session: str) -> tuple[int, int, int, int]:
    """(sessions, turns, messages, agents' states): rows of that session."""
    rows = await rows_of(database, session.removeprefix("sessions/"))
    return tuple(len(rows[table]) for table in ("sessions", "turns", "messages", "agent_states"))  # type: ignore[return-value]


async def test_deleting_the_origin_leaves_its_branches_as_they_are_and_they_branch_on(
    streaming: Streaming, forker: Forker, runner: FakeRunner, database: Database, bus: Bus
) -> None:
    name, _ = await begun(streaming, runner, 3)
    happened = (await turn_of(streaming, name)).id
    one = await forker.ready(name, 3)
    shown = await turn_of(streaming, one.name)
    before = await texts(streaming, one.name)
    await purged(streaming, database, bus, name)
    assert await kept(database, name) == (1, 3, 6, 3)
    assert await turn_of(streaming, one.name) == shown
    assert shown.origin_turn_id == happened
    assert (await texts(streaming, one.name), len(before)) == (before, 6)
    two = await forker.ready(one.name, 2)
    assert await texts(streaming, two.name) == before[:4]
    for branch, state in ((one, b"state 3"), (two, b"state 2")):
        await prompt(streaming, branch.name)
        held = await runner.take()
        assert held.job.session == branch.name
        assert await state_for(runner, held) == state
    await refused(forker.fork(name, 1), "SESSION_NOT_FOUND")
    await refused(streaming.session(session_id=name.removeprefix("sessions/")), "SESSION_DELETED")


async def test_what_is_shared_goes_with_the_last_branch_that_needs_it(
    streaming: Streaming, forker: Forker, runner: FakeRunner, database: Database, bus: Bus
) -> None:
    name, _ = await begun(streaming, runner, 4)
    one = await forker.ready(name, 4)
    two = await forker.ready(one.name, 2)
    three = await forker.ready(name, 1)
    await purged(streaming, database, bus, one.name)  # whose own turns nobody shares
    assert await kept(database, one.name) == (0, 0, 0, 0)
    assert await kept(database, name) == (1, 4, 8, 4)
    await purged(streaming, database, bus, name)
    assert await kept(database, name) == (1, 2, 4, 2)  # up to the highest turn that is shared
    assert [text for _, _, text in await texts(streaming, two.name)] == ["text 1", "answer 1", "text 2", "answer 2"]
    await purged(streaming, database, bus, two.name)
    assert await kept(database, name) == (1, 1, 2, 1)
    assert [text for _, _, text in await texts(streaming, three.name)] == ["text 1", "answer 1"]
    await purged(streaming, database, bus, three.name)
    async with database.connection() as tx:
        for table in (*TABLES, "stretches"):
            assert await tx.raw.fetchval(f"SELECT count(*) FROM {table}") == 0, table


async def test_a_branchs_turns_are_found_by_its_own_ids_and_page_by_page(streaming: Streaming, forker: Forker) -> None:
    async def spoken(name: str, *words: str) -> None:
        for word in words:
            await open_turn(streaming, name, word)
            await close_turn(streaming, name, f"{word}!")

    name = await streaming.session(adapter="external")
    await spoken(name, "a", "b", "c")
    one = await forker.ready(name, 2)
    await spoken(one.name, "d", "e")
    two = await forker.ready(one.name, 3)
    await spoken(two.name, "f")
    three = await forker.ready(two.name, 1)
    for branch, words in ((one, "abde"), (two, "abdf"), (three, "a")):
        expected = [(n, said) for n, word in enumerate(words, 1) for said in (word, f"{word}!")]
        for size in (1, 3, 200):
            found: list[pb.Message] = []
            token = ""
            while True:
                request = pb.ListMessagesRequest(parent=branch.name, page_size=size, page_token=token)
                page = await streaming.sessions.ListMessages(request)
                found += page.messages
                token = page.next_page_token
                if not token:
                    break
            assert [(one.turn, one.text) for one in found] == expected
            assert [one.sequence for one in found] == list(range(1, len(found) + 1))
        for number in range(1, len(words) + 1):
            of = next(one.turn_id for one in found if one.turn == number)
            turn = await turn_of(streaming, branch.name, of)
            assert (turn.id, turn.number, turn.outcome) == (of, number, "ok")
            assert bool(turn.origin_turn_id) == (number <= branch.fork_turn)
            assert turn.origin_turn_id != of
            single = await streaming.sessions.ListMessages(pb.ListMessagesRequest(parent=branch.name, turn_id=of))
            assert [one.text for one in single.messages] == [words[number - 1], f"{words[number - 1]}!"]
            assert {one.turn_id for one in single.messages} == {of}
    ids = {
        one.turn_id
        for branch in (name, two.name, three.name)
        for one in (await streaming.sessions.ListMessages(pb.ListMessagesRequest(parent=branch))).messages
    }
    assert len(ids) == 3 + 4 + 1  # no two sessions show a turn under one id
    later = (await streaming.sessions.ListMessages(pb.ListMessagesRequest(parent=one.name))).messages[-1]
    for foreign in (later.turn_id, await newest_id(streaming, name)):
        await refused(turn_of(streaming, two.name, foreign), "TURN_NOT_FOUND")


async def newest_id(streaming: Streaming, name: str) -> str:
    return (await turn_of(streaming, name)).id


async def test_a_state_that_comes_late_is_told_once_and_what_is_shared_does_not_change(
    streaming: Streaming, forker: Forker, runner: FakeRunner, database: Database
) -> None:
    name, held = await begun(streaming, runner, 1)
    turn = await newest_id(streaming, name)
    branch = await forker.ready(name, 1)
    before = await rows_of(database, name.removeprefix("sessions/"))
    await held.upload(turn, b"another state of turn 1")
    after = await rows_of(database, name.removeprefix("sessions/"))
    assert after["turns"] == before["turns"]
    again = await forker.ready(branch.name, 1)
    for session in (branch, again):
        await prompt(streaming, session.name)
        assert await state_for(runner, await runner.take()) == b"state 1"


async def test_states_of_copied_turns_are_inherited_in_the_end(
    streaming: Streaming, forker: Forker, runner: FakeRunner, database: Database, bus: Bus
) -> None:
    name, _ = await begun(streaming, runner, 4)
    one = await copied(database, await forker.ready(name, 4))
    two = await copied(database, await forker.ready(one, 3))

    async def holders() -> list[tuple[str, int]]:
        async with database.connection() as tx:
            rows = await tx.raw.fetch("SELECT session_id, count(*) AS n FROM agent_states GROUP BY 1 ORDER BY 1")
        return [(f"sessions/{row['session_id']}", row["n"]) for row in rows]

    assert await holders() == [(name, 4), (one, 1), (two, 1)]
    await purged(streaming, database, bus, name, one)
    assert await holders() == [(two, 3)]  # what the branch's turns use, and nothing else
    three = await forker.ready(two, 1)
    await purged(streaming, database, bus, two)
    assert await holders() == [(two, 1), (three.name, 1)]
    four = await forker.ready(three.name, 1)
    assert [text for _, _, text in await texts(streaming, four.name)] == ["text 1", "answer 1"]
    await prompt(streaming, four.name)
    assert await state_for(runner, await runner.take()) == b"state 1"


async def copied(database: Database, branch: pb.Session) -> str:
    """The branch as code of before made it: its turns and messages are copies, which it shares with nobody."""
    async with database.transaction() as tx:
        rows = await tx.raw.fetch("DELETE FROM stretches WHERE session_id = $1 RETURNING *", branch.id)
        for row in sorted(rows, key=lambda one: one["high"]):
            turns = await tx.raw.fetch(
                "SELECT * FROM turns WHERE session_id = $1 AND number <= $2 ORDER BY number", row["line"], row["high"]
            )
            for turn in turns:
                made = branch.turn_id if turn["number"] == branch.fork_turn else new_id("trn")
                await tx.raw.execute(
                    """
                    INSERT INTO turns (tenant, session_id, id, number, state, text, asked_by, outcome, code, usage,
                        agent_state, after_seq, said, origin_turn_id, created_at, ended_at)
                    SELECT tenant, $1, $2, number, state, text, asked_by, outcome, code, usage, agent_state, 0, said,
                        CASE origin_turn_id WHEN '' THEN id ELSE origin_turn_id END, created_at, ended_at
                    FROM turns WHERE session_id = $3 AND id = $4
                    """,
                    *(branch.id, made, row["line"], turn["id"]),
                )
                await tx.raw.execute(
                    """
                    INSERT INTO messages SELECT tenant, $1, sequence + $5, $2, role, text, partial, created_at
                    FROM messages WHERE session_id = $3 AND turn_id = $4
                    """,
                    *(branch.id, made, row["line"], turn["id"], row["messages_before"]),
                )
    return branch.name


async def test_the_same_fork_twice_is_as_good_as_once(
    streaming: Streaming, forker: Forker, runner: FakeRunner, database: Database
) -> None:
    name, _ = await begun(streaming, runner, 2)
    given, other = new_id("ses"), await streaming.session()
    made = await asyncio.gather(*(forker.fork(name, 2, given) for _ in range(8)))
    assert {one.name for one in made} == {f"sessions/{given}"}
    async with database.connection() as tx:
        assert await tx.raw.fetchval("SELECT count(*) FROM stretches WHERE session_id = $1", given) == 1
    assert len(await texts(streaming, made[0].name)) == 4
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
