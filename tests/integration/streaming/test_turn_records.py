"""What a turn's record says: its number, whether it is live, whether anything was said, what it cost (S.7)."""

from __future__ import annotations

import asyncio

import pytest

from services.kernel.ids import new_id
from services.kernel.postgres import Database
from tests.integration.streaming.agent_runner import Held, running
from tests.integration.streaming.client import Streaming
from tests.integration.streaming.conftest import StartReplica
from tests.integration.streaming.test_gates import CONFIRM
from tests.integration.streaming.test_turns import prompt, reached, refused
from treadle.streaming.v1 import runner_service_pb2 as runners
from treadle.streaming.v1 import session_event_pb2 as events
from treadle.streaming.v1 import session_service_pb2 as pb

State = pb.Session.State


async def turn_of(streaming: Streaming, name: str, turn_id: str = "") -> pb.SessionTurn:
    return await streaming.sessions.GetTurn(pb.GetTurnRequest(name=name, turn_id=turn_id))


async def test_turns_are_numbered_and_each_can_be_asked_for(streaming: Streaming) -> None:
    name = await streaming.session()
    await refused(turn_of(streaming, name), "TURN_NOT_FOUND")
    await refused(turn_of(streaming, "sessions/" + new_id("ses")), "SESSION_NOT_FOUND")
    await refused(turn_of(streaming, name, "trn_x"), "INVALID_ARGUMENT")
    async with running(streaming) as runner:
        ids: list[str] = []
        held: Held | None = None
        for number in (1, 2, 3):
            turn = await prompt(streaming, name, f"text {number}", f"key-{number}")
            ids.append(turn)
            held = held or await runner.take()
            await held.command("prompt")
            begun = await turn_of(streaming, name)
            assert (begun.id, begun.number, begun.state, begun.live) == (turn, number, State.STATE_RUNNING, True)
            assert not begun.said
            usage = runners.Usage(input_tokens=7 * number, output_tokens=number)
            await held.settle(turn, final_text=f"answer {number}", usage=usage)
            ended = await turn_of(streaming, name, turn)
            assert (ended.state, ended.live, ended.outcome, ended.code) == (State.STATE_IDLE, False, "ok", "")
            assert (ended.said, ended.tokens, ended.session.turn) == (True, 8 * number, number)
            assert ended.end_time.ToDatetime() >= ended.create_time.ToDatetime()
            assert await prompt(streaming, name, f"text {number}", f"key-{number}") == turn  # a repeat takes no number
        assert [(await turn_of(streaming, name, one)).number for one in ids] == [1, 2, 3]
        for number, one in enumerate(ids, 1):
            request = pb.ListMessagesRequest(parent=name, turn_id=one, page_size=1)
            page = await streaming.sessions.ListMessages(request)
            request.page_token = page.next_page_token
            rest = await streaming.sessions.ListMessages(request)
            texts = [message.text for message in (*page.messages, *rest.messages)]
            assert texts == [f"text {number}", f"answer {number}"]
            assert rest.next_page_token == ""
            request.turn_id = ids[number % 3]
            await refused(streaming.sessions.ListMessages(request), "INVALID_PAGE_TOKEN")


async def _text(held: Held) -> None:
    await held.text("a")


async def _thinking(held: Held) -> None:
    await held.say(event=events.SessionEvent(activity_delta=events.ActivityDelta(delta="hm")))


async def _tool(held: Held) -> None:
    await held.tool("c1", "running")


async def _gate(held: Held) -> None:
    await held.ask("q", "dialog", CONFIRM)


async def _status(held: Held) -> None:
    await held.say(event=events.SessionEvent(status=events.Status(code="retrying")))


@pytest.mark.parametrize(
    ("says", "said"), [(_text, True), (_thinking, True), (_tool, True), (_gate, True), (_status, False)]
)
async def test_a_turn_has_said_something_once_its_agent_shows_anything_of_itself(
    streaming: Streaming, says: object, said: bool
) -> None:
    name = await streaming.session()
    async with running(streaming) as runner:
        first = await prompt(streaming, name)
        held = await runner.take()
        await held.command("prompt")
        assert not (await turn_of(streaming, name)).said
        await says(held)  # type: ignore[operator]
        await held.stored()
        assert (await turn_of(streaming, name)).said is said
        await held.settle(first, "failed", code="provider_error")
        assert (await turn_of(streaming, name, first)).said is said
        await prompt(streaming, name)
        await held.until(lambda: any(one.WhichOneof("command") == "prompt" for one in held.commands))
        assert not (await turn_of(streaming, name)).said  # the next turn's agent has not
        await says(held)  # type: ignore[operator]
        await held.stored()
        assert (await turn_of(streaming, name)).said is (
            said and says is not _gate
        )  # the same question is not asked anew


async def test_what_was_said_is_noted_at_the_next_attach_where_it_was_not_at_once(
    streaming: Streaming, start_replica: StartReplica, database: Database
) -> None:
    other, name = await start_replica(), await streaming.session()
    async with running(streaming) as runner:
        await prompt(streaming, name)
        held = await runner.take()
        await held.command("prompt")
        await held.text("a")
        await held.stored()
        async with database.connection() as tx:  # as if the replica had died between the append and its note
            await tx.raw.execute("UPDATE turns SET said = false")
        await held.attach(other)
        assert (await turn_of(other, name)).said


async def test_a_turn_that_is_to_be_aborted_is_not_live(streaming: Streaming) -> None:
    name = await streaming.session()
    async with running(streaming) as runner:
        turn = await prompt(streaming, name)
        held = await runner.take()
        await held.command("prompt")
        await streaming.sessions.AbortSession(pb.AbortSessionRequest(name=name))
        asked = await turn_of(streaming, name)
        assert (asked.state, asked.live) == (State.STATE_RUNNING, False)
        await held.settle(turn, "aborted")
        ended = await turn_of(streaming, name)
        assert (ended.state, ended.live, ended.outcome) == (State.STATE_IDLE, False, "aborted")


async def test_what_a_lost_agent_had_said_is_known_of_its_failed_turn(start_impatient: StartReplica) -> None:
    streaming = await start_impatient()
    name, silent = await streaming.session(), await streaming.session()
    async with running(streaming) as runner:
        await prompt(streaming, name)
        held = await runner.take()
        await held.command("prompt")
        await held.text("a")
        await held.stored()
        await prompt(streaming, silent)
        await (await runner.take()).command("prompt")
        runner.silence()
        await asyncio.gather(*(reached(streaming, one, State.STATE_FAILED) for one in (name, silent)))
        ends = [await turn_of(streaming, one) for one in (name, silent)]
        assert [(one.code, one.said, one.number) for one in ends] == [
            ("runner_lost", True, 1),
            ("runner_lost", False, 1),
        ]


async def test_a_session_can_be_opened_under_an_id_that_was_given_before(streaming: Streaming) -> None:
    given = new_id("ses")
    made = await asyncio.gather(*(streaming.session(session_id=given, title=f"t{n}") for n in range(8)))
    assert set(made) == {f"sessions/{given}"}
    async with streaming.listening(made[0]) as reader:
        assert [frame.event for frame in await reader.level()] == ["status", "turn"]  # opened once
    await prompt(streaming, made[0])
    again = await streaming.sessions.CreateSession(pb.CreateSessionRequest(adapter="scripted", session_id=given))
    assert (again.name, again.state) == (made[0], State.STATE_RUNNING)
    await refused(streaming.session(session_id=given, adapter="pi"), "SESSION_EXISTS")
    await refused(streaming.session(session_id="ses_1"), "INVALID_ARGUMENT")
    await streaming.sessions.BatchDeleteSessions(pb.BatchDeleteSessionsRequest(ids=[given]))
    await refused(streaming.session(session_id=given), "SESSION_DELETED")
