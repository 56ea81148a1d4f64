"""Sessions that an outside agent drives: no runner has a part in them (design/streaming.md S.8, coordination C.2)."""

from __future__ import annotations

import asyncio

import grpc
import pytest

from services.kernel.postgres import Database
from tests.integration.streaming.agent_runner import FakeRunner
from tests.integration.streaming.client import Streaming, body
from tests.integration.streaming.conftest import StartReplica
from tests.integration.streaming.test_process import Launch, launch  # noqa: F401 - a fixture
from tests.integration.streaming.test_turn_records import turn_of
from tests.integration.streaming.test_turns import get, prompt, refused, told
from treadle.streaming.v1 import session_service_pb2 as pb

State = pb.Session.State


async def open_turn(streaming: Streaming, name: str, text: str = "go", request_id: str = "") -> str:
    request = pb.OpenTurnRequest(name=name, text=text, request_id=request_id)
    return (await streaming.sessions.OpenTurn(request)).turn_id


async def close_turn(streaming: Streaming, name: str, text: str = "", **fields: str) -> pb.Session:
    return await streaming.sessions.CloseTurn(pb.CloseTurnRequest(name=name, text=text, **fields))


async def test_a_turn_from_outside_is_told_and_kept_like_any_other(streaming: Streaming, database: Database) -> None:
    name = await streaming.session(adapter="external")
    async with streaming.listening(name) as reader, streaming.of_tenant() as feed:
        turn = await open_turn(streaming, name, "what is it?")
        begun = await turn_of(streaming, name)
        assert (begun.id, begun.number, begun.state, begun.live, begun.said) == (
            turn,
            1,
            State.STATE_RUNNING,
            True,
            False,
        )
        assert begun.session.agent == pb.Session.AGENT_NONE
        ended = await close_turn(streaming, name, "it is this")
        assert (ended.state, ended.outcome, ended.turn_id, ended.turn) == (State.STATE_IDLE, "ok", turn, 1)
        assert (await turn_of(streaming, name)).said
        second = await open_turn(streaming, name, "and then?")
        await close_turn(streaming, name, outcome="failed", turn_id=second)
        assert ((await get(streaming, name)).state, (await get(streaming, name)).code) == (
            State.STATE_FAILED,
            "provider_error",
        )
        await reader.until(lambda one: told(one, "turn")[-1:] == [("turn", "failed")])
        assert told(reader, "turn", "prompt", "text_delta") == [
            ("turn", "idle"),
            ("prompt", "what is it?"),
            ("turn", "running"),
            ("text_delta", "it is this"),
            ("turn", "idle"),
            ("prompt", "and then?"),
            ("turn", "running"),
            ("turn", "failed"),
        ]
        assert {one.partition("-")[0] for one in reader.ids} == {"1"}  # nobody's agent was started
        await feed.until(lambda one: sum(body(f)["kind"] == "turn" for f in one.frames) == 4)
        facts = [body(f) for f in feed.frames if body(f)["kind"] == "turn"]
        assert [(one["turn_id"], one["to"], one["outcome"]) for one in facts] == [
            (turn, "running", ""),
            (turn, "idle", "ok"),
            (second, "running", ""),
            (second, "failed", "provider_error"),
        ]
    messages = (await streaming.sessions.ListMessages(pb.ListMessagesRequest(parent=name))).messages
    assert [(one.turn_id, one.role, one.text) for one in messages] == [
        (turn, "user", "what is it?"),
        (turn, "assistant", "it is this"),
        (second, "user", "and then?"),
    ]
    async with database.connection() as tx:
        assert await tx.raw.fetchval("SELECT count(*) FROM jobs") == 0


async def test_what_our_own_agents_are_told_is_refused_and_the_other_way_round(streaming: Streaming) -> None:
    name, ours, s = await streaming.session(adapter="external"), await streaming.session(), streaming.sessions
    runner = FakeRunner(streaming, adapter="external")
    await runner.announce()
    for _ in range(2):  # idle, then with a turn
        before = await get(streaming, name)
        await refused(prompt(streaming, name), "EXTERNAL_SESSION")
        await refused(s.SteerSession(pb.SteerSessionRequest(name=name, text="x")), "EXTERNAL_SESSION")
        await refused(s.ResumeSession(pb.ResumeSessionRequest(name=name)), "EXTERNAL_SESSION")
        assert await get(streaming, name) == before
        if before.state == State.STATE_IDLE:
            await open_turn(streaming, name)
    assert await runner.claim_jobs(1, 0) == []
    assert await refused(open_turn(streaming, ours), "NOT_EXTERNAL") == {"adapter": "scripted"}
    await refused(close_turn(streaming, ours), "NOT_EXTERNAL")


async def test_a_turn_from_outside_is_begun_and_ended_once_a_request(streaming: Streaming) -> None:
    name = await streaming.session(adapter="external")
    await refused(close_turn(streaming, name), "TURN_NOT_RUNNING")
    turns = await asyncio.gather(*(open_turn(streaming, name, "go", "k") for _ in range(8)))
    assert len(set(turns)) == 1
    assert await refused(open_turn(streaming, name), "TURN_RUNNING") == {"state": "running", "turn": turns[0]}
    await refused(open_turn(streaming, name, "else", "k"), "REQUEST_ID_REUSED")
    await refused(close_turn(streaming, name, turn_id="trn_" + "0" * 32), "TURN_NOT_RUNNING")
    await refused(close_turn(streaming, name, turn_id="x"), "INVALID_ARGUMENT")
    await refused(close_turn(streaming, name, outcome="fine"), "INVALID_ARGUMENT")
    await asyncio.gather(*(close_turn(streaming, name, "end", request_id="e") for _ in range(8)))
    await refused(close_turn(streaming, name, "end"), "TURN_NOT_RUNNING")
    assert (await turn_of(streaming, name)).number == 1
    assert await open_turn(streaming, name, "go", "k") == turns[0]
    assert (await get(streaming, name)).state == State.STATE_IDLE
    others = await asyncio.gather(*(open_turn(streaming, name) for _ in range(8)), return_exceptions=True)
    assert sum(isinstance(one, str) for one in others) == 1


async def test_a_person_aborts_a_turn_from_outside_at_once_and_its_end_comes_too_late(streaming: Streaming) -> None:
    name = await streaming.session(adapter="external")
    turn = await open_turn(streaming, name)
    aborted = await streaming.sessions.AbortSession(pb.AbortSessionRequest(name=name))
    assert (aborted.state, aborted.outcome) == (State.STATE_IDLE, "aborted")
    await refused(close_turn(streaming, name, "late", turn_id=turn), "TURN_NOT_RUNNING")
    messages = (await streaming.sessions.ListMessages(pb.ListMessagesRequest(parent=name))).messages
    assert [one.role for one in messages] == ["user"]


@pytest.mark.parametrize("text", ["x" * 900_000, "\u2028é" * 150_000, "\x01" * 100_000])
async def test_a_long_answer_is_told_in_pieces_and_whole(
    streaming: Streaming, start_replica: StartReplica, text: str
) -> None:
    other, name = await start_replica(), await streaming.session(adapter="external")
    await open_turn(streaming, name)
    await close_turn(streaming, name, text)
    async with other.listening(name) as reader:
        await reader.until(lambda one: told(one, "turn")[-1:] == [("turn", "idle")] and len(one.frames) > 4)
        assert reader.texts == text
    messages = (await streaming.sessions.ListMessages(pb.ListMessagesRequest(parent=name))).messages
    assert messages[1].text == text


@pytest.mark.parametrize(
    ("text", "reason"),
    [("x" * 900_001, "VALUE_TOO_LARGE"), ("é" * 450_001, "VALUE_TOO_LARGE"), ("\0", "INVALID_ARGUMENT")],
)
async def test_an_answer_that_cannot_be_kept_is_refused_and_the_turn_goes_on(
    streaming: Streaming, text: str, reason: str
) -> None:
    name = await streaming.session(adapter="external")
    await open_turn(streaming, name)
    await refused(close_turn(streaming, name, text), reason)
    assert (await get(streaming, name)).state == State.STATE_RUNNING


async def test_a_turn_from_outside_outlives_kill_9_of_the_replica_that_began_it(launch: Launch) -> None:  # noqa: F811
    process, killed = await launch()
    _, other = await launch()
    name = await killed.session(adapter="external")
    turn = await open_turn(killed, name, "go", "k")
    await process.kill()
    with pytest.raises(grpc.aio.AioRpcError):
        await close_turn(killed, name, "lost")
    assert await open_turn(other, name, "go", "k") == turn
    assert (await close_turn(other, name, "kept")).outcome == "ok"
    async with other.listening(name) as reader:
        await reader.until(lambda one: told(one, "turn")[-1:] == [("turn", "idle")] and len(one.frames) > 4)
        assert reader.texts == "kept"
        assert reader.ids == [f"1-{n}" for n in range(1, len(reader.ids) + 1)]
