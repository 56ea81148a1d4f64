"""Turns over real channels: prompt, steer, abort, settlement, failure (design/streaming.md D1.1, D1.8)."""

from __future__ import annotations

import asyncio

import grpc
import pytest

from services.kernel.grpc_errors import refusal_from
from tests.integration.streaming.agent_runner import FakeRunner, running
from tests.integration.streaming.client import Listener, Streaming, body
from tests.integration.streaming.conftest import StartReplica
from treadle.streaming.v1 import session_service_pb2 as pb

State = pb.Session.State


async def prompt(streaming: Streaming, name: str, text: str = "go", request_id: str = "") -> str:
    request = pb.PromptSessionRequest(name=name, text=text, request_id=request_id)
    return (await streaming.sessions.PromptSession(request)).turn_id


async def get(streaming: Streaming, name: str) -> pb.Session:
    return await streaming.sessions.GetSession(pb.GetSessionRequest(name=name))


async def reached(streaming: Streaming, name: str, state: int, seconds: float = 15) -> pb.Session:
    async with asyncio.timeout(seconds):
        while (session := await get(streaming, name)).state != state:
            await asyncio.sleep(0.02)
    return session


def told(listener: Listener, *events: str) -> list[tuple[str, str]]:
    """(event, what it says) in short."""
    short = {"turn": "state", "tool": "status", "prompt": "text", "text_delta": "delta", "gate": "state"}
    return [(f.event, str(body(f).get(short[f.event]))) for f in listener.frames if f.event in events]


async def refused(call: object, reason: str) -> dict[str, str]:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call  # type: ignore[misc]
    refusal = refusal_from(caught.value)
    assert refusal is not None
    assert refusal.reason == reason, refusal
    return refusal.metadata


async def test_d1_8_21_a_turn_from_prompt_to_final_text_and_a_late_reader_sees_all_of_it(streaming: Streaming) -> None:
    name = await streaming.session()
    async with running(streaming) as runner, streaming.listening(name) as reader:
        turn = await prompt(streaming, name, "say hello")
        held = await runner.take()
        command = await held.command("prompt")
        assert (command.turn_id, command.prompt.text) == (turn, "say hello")
        assert (await get(streaming, name)).agent == pb.Session.AGENT_LIVE
        await held.tool("c1", "running")
        await held.text("Hel")
        await held.tool("c1", "completed")
        await held.text("lo")
        await held.settle(turn, final_text="Hello")
        expected = [
            ("turn", "idle"),
            ("prompt", "say hello"),
            ("turn", "running"),
            ("tool", "running"),
            ("text_delta", "Hel"),
            ("tool", "completed"),
            ("text_delta", "lo"),
            ("turn", "idle"),
        ]
        await reader.until(lambda one: len(told(one, "turn")) == 3)
        assert told(reader, "turn", "prompt", "tool", "text_delta") == expected
        async with streaming.listening(name) as late:
            await late.level()
            assert told(late, "turn", "prompt", "tool", "text_delta") == expected
            assert late.ids == reader.ids
        session = await get(streaming, name)
        assert (session.state, session.outcome, session.generation) == (State.STATE_IDLE, "ok", 1)
        messages = await streaming.sessions.ListMessages(pb.ListMessagesRequest(parent=name))
        assert [(m.sequence, m.role, m.text, m.partial) for m in messages.messages] == [
            (1, "user", "say hello", False),
            (2, "assistant", "Hello", False),
        ]


async def test_one_turn_at_a_time_and_a_prompt_is_done_once_a_request_id(streaming: Streaming) -> None:
    name = await streaming.session()
    turns = await asyncio.gather(*(prompt(streaming, name, "go", "key-1") for _ in range(8)))
    assert len(set(turns)) == 1
    assert await refused(prompt(streaming, name, "again"), "TURN_RUNNING") == {"state": "running", "turn": turns[0]}
    await refused(prompt(streaming, name, "other words", "key-1"), "REQUEST_ID_REUSED")
    others = await asyncio.gather(*(prompt(streaming, name) for _ in range(5)), return_exceptions=True)
    assert all(isinstance(one, grpc.aio.AioRpcError) for one in others)


async def test_d1_8_10_calls_that_are_open_at_an_abort_are_failed_exactly_once(streaming: Streaming) -> None:
    name = await streaming.session()
    async with running(streaming) as runner, streaming.listening(name) as reader:
        turn = await prompt(streaming, name)
        held = await runner.take()
        await held.command("prompt")
        for call in ("a", "b", "c"):
            await held.tool(call, "running")
        await held.tool("b", "completed")
        await held.tool("b", "failed")  # a second end is not told
        await held.text("half a sen")
        await streaming.sessions.AbortSession(pb.AbortSessionRequest(name=name))
        await streaming.sessions.AbortSession(pb.AbortSessionRequest(name=name))  # twice is once
        assert (await held.command("abort")).turn_id == turn
        assert (await get(streaming, name)).state == State.STATE_RUNNING
        await held.attach()  # a broken stream in between forgets nothing
        await held.settle(turn, "aborted")
        assert held.commands == []
        session = await get(streaming, name)
        assert (session.state, session.outcome, session.code) == (State.STATE_IDLE, "aborted", "")
        await reader.until(lambda one: told(one, "turn")[-1:] == [("turn", "idle")] and len(one.frames) > 8)
        ends = [(body(f)["call_id"], body(f)["status"]) for f in reader.frames if f.event == "tool"]
        assert ends == [(c, "running") for c in "abc"] + [("b", "completed"), ("a", "failed"), ("c", "failed")]
        messages = await streaming.sessions.ListMessages(pb.ListMessagesRequest(parent=name))
        assert [(m.role, m.text, m.partial) for m in messages.messages][1] == ("assistant", "half a sen", True)


async def test_a_failed_turn_has_a_code_and_nothing_else_and_a_prompt_goes_on(streaming: Streaming) -> None:
    name = await streaming.session()
    async with running(streaming) as runner:
        turn = await prompt(streaming, name)
        held = await runner.take()
        await held.command("prompt")
        await held.settle(turn, "failed", code="provider_error", detail="ZX-SECRET-7")
        session = await get(streaming, name)
        assert (session.state, session.code, session.outcome) == (State.STATE_FAILED, "provider_error", "")
        again = await prompt(streaming, name, "once more")
        command = await held.command("prompt")
        assert command.turn_id == again != turn
        await held.settle(again, final_text="fine")
        assert (await get(streaming, name)).state == State.STATE_IDLE


@pytest.mark.parametrize(
    ("code", "shown"), [("", "child_exit"), ("child_exit", "child_exit"), ("ZX", "protocol_error")]
)
async def test_an_agent_that_exits_in_a_turn_has_failed_whatever_its_code(
    streaming: Streaming, code: str, shown: str
) -> None:
    name = await streaming.session()
    async with running(streaming) as runner:
        await prompt(streaming, name)
        held = await runner.take()
        await held.command("prompt")
        await held.exit(code)
        session = await reached(streaming, name, State.STATE_FAILED)
        assert (session.code, session.agent) == (shown, pb.Session.AGENT_NONE)


async def test_steering_reaches_the_agent_in_order_and_only_in_a_turn(streaming: Streaming) -> None:
    name = await streaming.session()
    steer = streaming.sessions.SteerSession
    assert (await refused(steer(pb.SteerSessionRequest(name=name, text="x")), "TURN_NOT_RUNNING"))["state"] == "idle"
    async with running(streaming) as runner:
        turn = await prompt(streaming, name)
        for text in ("one", "two"):
            await steer(pb.SteerSessionRequest(name=name, text=text))
        held = await runner.take()
        assert (await held.command("prompt")).sequence == 1
        await steer(pb.SteerSessionRequest(name=name, text="three"))
        got = [await held.command("steer") for _ in range(3)]
        assert [(one.sequence, one.steer.text, one.turn_id) for one in got] == [
            (2, "one", turn),
            (3, "two", turn),
            (4, "three", turn),
        ]


async def test_commands_that_were_not_taken_come_again_after_a_broken_stream_at_the_other_replica(
    streaming: Streaming, start_replica: StartReplica
) -> None:
    other = await start_replica()
    name = await streaming.session()
    async with running(streaming) as runner:
        turn = await prompt(streaming, name)
        held = await runner.take()
        await held.until(lambda: bool(held.commands))
        held.commands.clear()  # heard, and lost before it was taken
        await held.text("a")
        await held.stored()
        await held.attach(other)
        assert (await held.command("prompt")).turn_id == turn
        await streaming.sessions.SteerSession(pb.SteerSessionRequest(name=name, text="psst"))
        assert (await held.command("steer")).steer.text == "psst"
        await held.text("b")
        await held.settle(turn, final_text="ab")
        async with other.listening(name) as reader:
            await reader.level()
            assert reader.texts == "ab"


async def test_the_same_settlement_twice_is_as_good_as_once(streaming: Streaming) -> None:
    name = await streaming.session()
    async with running(streaming) as runner, streaming.listening(name) as reader:
        turn = await prompt(streaming, name)
        held = await runner.take()
        await held.command("prompt")
        await held.settle(turn, final_text="done")
        await held.settle(turn, "failed", code="provider_error")
        assert (await get(streaming, name)).state == State.STATE_IDLE
        second = await prompt(streaming, name)
        await held.command("prompt")
        await held.settle(second, final_text="done")
        await reader.until(lambda one: len(told(one, "turn")) == 5)
        assert [state for _, state in told(reader, "turn")] == ["idle", "running", "idle", "running", "idle"]


async def test_who_lost_the_lease_can_settle_nothing(start_impatient: StartReplica) -> None:
    streaming = await start_impatient()
    name = await streaming.session()
    runner = FakeRunner(streaming)
    turn = await prompt(streaming, name)
    held = await runner.take(beats=False)
    await held.command("prompt")
    await reached(streaming, name, State.STATE_FAILED)
    await held.ended.wait()
    assert held.refusal == "LEASE_LOST"
    await refused(held.attach(), "LEASE_LOST")
    assert (await get(streaming, name)).turn_id == turn
    await runner.close()
