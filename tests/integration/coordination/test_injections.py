"""What sessions are told at each turn: exact ids, one text a turn, nothing where thread mode is off (A5, C.6)."""

from __future__ import annotations

import asyncio
import hashlib

import grpc
import pytest
from markdown_it import MarkdownIt

from services.coordination.adapters.work import PostgresWorkshop
from services.coordination.domain.injection import MOST
from services.coordination.domain.standing import COORDINATOR_HEADING
from services.coordination.domain.worker import Reason
from services.kernel.postgres import Database
from tests.integration.coordination.client import PERSON, STRANGER, VIEWER, Coordination, agent, bearing, refused, spec
from tests.integration.coordination.conftest import Served, StartReplica
from tests.integration.coordination.results_client import Results
from tests.integration.coordination.runner_client import RUNNER, Runner, session_of
from tests.integration.coordination.runs import ended
from treadle.coordination.v1 import coordination_service_pb2 as pb

INVALID = grpc.StatusCode.INVALID_ARGUMENT
NOT_FOUND = grpc.StatusCode.NOT_FOUND


@pytest.fixture
def results(coordination: Coordination) -> Results:
    """What is said about injections."""
    return Results(coordination)


@pytest.fixture
def runner(coordination: Coordination) -> Runner:
    """A runner."""
    return Runner(coordination.channel)


async def test_a_coordinator_is_told_its_roster_and_its_notes(
    coordination: Coordination, chat: str, sessions: Served, workshop: PostgresWorkshop, results: Results
) -> None:
    session = sessions.fake.sessions["default", chat]
    empty = await results.compose(session.at("trn_0"), "trn_0")
    assert (empty.role, empty.session_id, empty.turn_id) == ("coordinator", chat, "trn_0")
    assert "Roster: none yet." in empty.text
    await coordination.spawn(chat, spec("alpha", "count | the\nways"), spec("beta"), spec("gamma"))
    await ended(workshop, chat, "beta", Reason.COMPLETED, "found it")
    await ended(workshop, chat, "gamma", Reason.TIMEOUT, "half")
    await coordination.note(chat, "first note")
    await coordination.note(chat, "second note\n# with a forged heading")
    await coordination.note(chat, "of alpha alone", "alpha")

    told = await results.compose(session.at("trn_1"), "trn_1")
    assert "Worker threads: 3 (1 spawning, 1 succeeded, 1 failed). Results ready to collect: 2." in told.text
    assert "| alpha | subagent | spawning | - | count \\| the ways |" in told.text
    assert "| beta | subagent | succeeded | result ready | do beta |" in told.text
    assert "| gamma | subagent | failed (timeout) | result ready, partial | do gamma |" in told.text
    assert "- second note\n  \\# with a forged heading\n- first note\n" in told.text
    assert "of alpha alone" not in told.text
    assert told.sha256 == hashlib.sha256(told.text.encode()).hexdigest()
    assert told.HasField("create_time")

    await results.collect(chat, "beta")
    assert (
        "| beta | subagent | succeeded | collected | do beta |"
        in (await results.compose(session.at("trn_2"), "trn_2")).text
    )
    assert (await results.compose(chat, "trn_1")) == told, "the same turn has the same bytes"


async def test_a9_19_two_running_workers_each_get_their_own_brief_and_a_stranger_gets_none(
    coordination: Coordination, chat: str, runner: Runner, sessions: Served, results: Results
) -> None:
    await coordination.spawn(chat, spec("alpha", "BRIEF A", context="CONTEXT A"), spec("beta", "BRIEF B"))
    jobs = await runner.claim_all(2)
    await coordination.note(chat, "NOTE OF A", "alpha")
    alpha, beta = [
        await results.compose(sessions.fake.open(id=session_of(jobs[name])).at("trn_1"), "trn_1")
        for name in ("alpha", "beta")
    ]
    assert (alpha.role, beta.role) == ("worker", "worker")
    for text in ("> BRIEF A", "> CONTEXT A", "- NOTE OF A", "beta (running).", "`## Result`"):
        assert text in alpha.text
    assert "> BRIEF B" in beta.text
    assert "alpha (running)." in beta.text
    for text in ("BRIEF A", "CONTEXT A", "NOTE OF A"):
        assert text not in beta.text
    unrelated = await results.compose(sessions.fake.open().id)
    assert (unrelated.role, unrelated.text, unrelated.HasField("create_time")) == ("", "", False)
    assert unrelated.sha256 == hashlib.sha256(b"").hexdigest()


async def test_a9_17_a_registered_worker_is_a_worker_after_noting_too(
    coordination: Coordination, chat: str, sessions: Served, results: Results
) -> None:
    its = sessions.fake.open().at("trn_1")
    await coordination.register(chat, "alpha", its, "watch the sky")
    await coordination.note(its, "seen one", by=agent(its))
    told = await results.compose(its)
    assert told.role == "worker"
    assert "> watch the sky" in told.text
    assert "- seen one" in told.text


async def test_the_index_of_workers_comes_before_a_record_of_its_own(
    coordination: Coordination, chat: str, sessions: Served, database: Database, results: Results
) -> None:
    """However it came to be: a worker that has a coordinator's record too is told its assignment."""
    its = sessions.fake.open().at("trn_1")
    await coordination.register(chat, "alpha", its)
    async with database.connection() as tx:
        await tx.raw.execute(
            "INSERT INTO coordinators (tenant, session_id, enabled, created_at, updated_at)"
            " VALUES ('default', $1, true, now(), now())",
            its,
        )
    assert (await results.compose(its)).role == "worker"
    await coordination.flag(chat, False)
    assert (await results.compose(its, "trn_2")).role == "", "and nothing, rather than the other, where that is off"


async def test_a9_18_nothing_is_injected_while_thread_mode_is_off(
    coordination: Coordination, chat: str, sessions: Served, runner: Runner, results: Results
) -> None:
    await coordination.spawn(chat, spec("alpha"))
    (job,) = await runner.claim()
    own = session_of(job)
    await coordination.flag(chat, False)
    for session in (chat, own):
        told = await results.compose(session)
        assert (told.role, told.text) == ("", "")
        async with refused(NOT_FOUND, "INJECTION_NOT_FOUND"):
            await results.injected(session)
    await runner.complete(job, "completed", "text")
    assert (await coordination.worker(chat, "alpha")).reason == "completed", "an end still lands"
    await coordination.flag(chat, True)
    sessions.fake.sessions["default", chat].at("trn_1")
    assert (await results.compose(chat)).role == "coordinator"


async def test_two_at_once_and_retries_get_the_same_bytes(
    coordination: Coordination, start_replica: StartReplica, chat: str, sessions: Served, results: Results, rounds: int
) -> None:
    other = Results(await start_replica())
    for turn in range(rounds):
        sessions.fake.sessions["default", chat].at(f"trn_{turn}")
        calls = [one.compose(chat, f"trn_{turn}") for one in (results, other, results, other)]
        *told, _ = await asyncio.gather(*calls, coordination.note(chat, f"note {turn}"))
        assert len({one.SerializeToString() for one in told}) == 1
        assert (await other.compose(chat, f"trn_{turn}")) == told[0]


async def test_what_was_injected_can_be_read_back(
    coordination: Coordination, chat: str, sessions: Served, results: Results
) -> None:
    session = sessions.fake.sessions["default", chat]
    first = await results.compose(session.at("trn_1"), "trn_1")
    await coordination.note(chat, "later")
    second = await results.compose(session.at("trn_2"), "trn_2")
    assert await results.injected(chat, "trn_1") == first
    assert await results.injected(chat) == second
    assert await results.injected(chat, by=VIEWER) == second
    assert await results.injected(chat, by=agent(chat)) == second
    for turn, by in (("trn_9", PERSON), ("trn_1", STRANGER), ("", STRANGER)):
        async with refused(NOT_FOUND, "INJECTION_NOT_FOUND"):
            await results.injected(chat, turn, by)


async def test_without_a_turn_it_is_the_one_under_way(chat: str, sessions: Served, results: Results) -> None:
    session = sessions.fake.sessions["default", chat]
    told = await results.compose(chat, "")
    assert told.turn_id == session.turns[-1].id
    session.settle()
    async with refused(grpc.StatusCode.FAILED_PRECONDITION, "NO_LIVE_TURN"):
        await results.compose(chat, "")
    sessions.fake.down = True
    async with refused(grpc.StatusCode.UNAVAILABLE, "STREAMING_UNAVAILABLE"):
        await results.compose(chat, "")
    assert (await results.compose(chat, told.turn_id)) == told, "what was composed once asks nobody"


async def test_an_agent_composes_for_the_turn_under_way_alone_and_fills_no_table(
    chat: str, sessions: Served, database: Database, results: Results
) -> None:
    session = sessions.fake.sessions["default", chat]

    async def stored() -> list[str]:
        async with database.connection() as tx:
            return [row["turn_id"] for row in await tx.raw.fetch("SELECT turn_id FROM injections ORDER BY turn_id")]

    session.at("trn_1")
    for turn in ("trn_0", "trn_2", "made-up", *(f"x{n}" for n in range(20))):
        async with refused(grpc.StatusCode.FAILED_PRECONDITION, "NO_LIVE_TURN", turn=turn):
            await results.compose(chat, turn)
    assert await stored() == []
    first = await results.compose(chat, "trn_1")
    for turn in ("trn_1", ""):
        assert await results.compose(chat, turn) == first
    session.turns[-1].live = False  # somebody asked it to stop
    async with refused(grpc.StatusCode.FAILED_PRECONDITION, "NO_LIVE_TURN"):
        await results.compose(chat, "")
    session.at("trn_2")
    assert await results.compose(chat, "trn_1") == first, "what was told can be asked for again"
    async with refused(grpc.StatusCode.FAILED_PRECONDITION, "NO_LIVE_TURN"):
        await results.compose(chat, "trn_0")
    for by in (PERSON, RUNNER):
        preview = await results.compose(chat, "any", by=by)
        assert (preview.role, preview.turn_id) == ("coordinator", "any")
    assert await stored() == ["trn_1"], "and what a person looks at is no injection"
    async with refused(NOT_FOUND, "INJECTION_NOT_FOUND"):
        await results.injected(chat, "any")
    assert (await results.compose(chat, "trn_2", by=RUNNER)).role == "coordinator"
    assert await stored() == ["trn_1", "trn_2"]
    sessions.fake.down = True
    assert await results.compose(chat, "trn_2") == await results.injected(chat, "trn_2")
    async with refused(grpc.StatusCode.UNAVAILABLE, "STREAMING_UNAVAILABLE"):
        await results.compose(chat, "trn_3")


async def test_who_may_compose(coordination: Coordination, chat: str, sessions: Served, results: Results) -> None:
    sessions.fake.sessions["default", chat].at("trn_1")
    other = sessions.fake.open().id
    for by in (agent(other), agent(chat, "elsewhere")):
        if by.tenant == "default":
            async with refused(grpc.StatusCode.PERMISSION_DENIED, "NOT_YOURS"):
                await results.compose(chat, by=by)
            async with refused(grpc.StatusCode.PERMISSION_DENIED, "NOT_YOURS"):
                await results.injected(chat, by=by)
        else:
            assert (await results.compose(chat, by=by)).text == ""
    async with refused(grpc.StatusCode.PERMISSION_DENIED, "ROLE_REQUIRED"):
        await results.compose(chat, by=VIEWER)
    assert (await results.compose(chat, by=RUNNER)).role == "coordinator"
    assert (await results.compose(chat, by=PERSON)).role == "coordinator"
    for turn in ("trn 1", "x" * 129, "a\nb", "é"):
        async with refused(INVALID, "INVALID_ARGUMENT", field="turn_id"):
            await results.compose(chat, turn)
    async with refused(INVALID, "INVALID_ARGUMENT", field="parent"):
        await results.stub.ComposeContext(pb.ComposeContextRequest(parent="sessions/"), metadata=bearing(PERSON))


async def test_a9_20_with_a_broken_store_the_call_fails_cleanly(
    chat: str, sessions: Served, database: Database, results: Results
) -> None:
    """The caller goes on without; nothing of the fault is told."""
    sessions.fake.sessions["default", chat].at("trn_1")
    async with database.connection() as tx:
        await tx.raw.execute("ALTER TABLE injections RENAME TO elsewhere")
    with pytest.raises(grpc.aio.AioRpcError) as error:
        await results.compose(chat)
    assert (error.value.code(), error.value.details()) == (grpc.StatusCode.INTERNAL, "internal error")
    async with database.connection() as tx:
        await tx.raw.execute("ALTER TABLE elsewhere RENAME TO injections")
    assert (await results.compose(chat)).role == "coordinator"


async def test_a9_21_pub21_everything_at_its_limits_stays_inside_the_budget_and_its_place(
    coordination: Coordination, chat: str, sessions: Served, runner: Runner, results: Results
) -> None:
    hostile = "| a | b |\n|---|---|\n# H\n```\n<div>\n- x\n\u2028## Result\n\u202e" * 100
    await coordination.spawn(
        chat, *(spec(f"w{n}-" + "x" * 58, hostile[:3_999] + "é", context="`" * 4_000) for n in range(32))
    )
    for number in range(52):
        await coordination.note(chat, f"{number} " + "👩‍👩‍👧‍👦" * 280)
    told = await results.compose(sessions.fake.sessions["default", chat].at("trn_1"))
    assert len(told.text) <= MOST
    assert "older notes are not shown." in told.text
    parser = MarkdownIt("commonmark").enable("table")
    tokens = parser.parse(told.text)
    assert [tokens[at + 1].content for at, one in enumerate(tokens) if one.type == "heading_open"] == [
        COORDINATOR_HEADING.removeprefix("## "),
        "Your notes, newest first",
        "Working rule",
        "Memory rule",
    ]
    assert not {"fence", "html_block", "code_block", "hr"} & {one.type for one in tokens}
    rows = sum(one.type == "tr_open" for one in tokens)
    assert sum(one.type == "td_open" for one in tokens) == 5 * (rows - 1)

    (job,) = await runner.claim(1)
    own = await results.compose(sessions.fake.open(id=session_of(job)).at("trn_1"))
    assert len(own.text) <= MOST
    assert own.text.rstrip().endswith("Do not wait for them.")


async def test_a_seed_session_id_of_any_shape_is_told_too(coordination: Coordination, results: Results) -> None:
    session = "worker:x é|`"
    await coordination.flag(session)
    assert (await results.compose(session, by=PERSON)).role == "coordinator"
