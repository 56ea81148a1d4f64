"""What a turn has cost, while it is under way and at its end (design/streaming.md D1.8)."""

from __future__ import annotations

import asyncio

from tests.integration.streaming.agent_runner import running
from tests.integration.streaming.client import Streaming
from treadle.streaming.v1 import runner_service_pb2 as runners
from treadle.streaming.v1 import session_service_pb2 as pb


async def tokens(streaming: Streaming, name: str) -> int:
    return (await streaming.sessions.GetTurn(pb.GetTurnRequest(name=name))).tokens


async def counted(streaming: Streaming, name: str, count: int) -> None:
    async with asyncio.timeout(30):
        while await tokens(streaming, name) != count:
            await asyncio.sleep(0.02)


async def test_what_a_turn_has_cost_so_far_is_seen_and_its_end_has_the_last_word(streaming: Streaming) -> None:
    name = await streaming.session()
    async with running(streaming) as runner:
        turn = (await streaming.sessions.PromptSession(pb.PromptSessionRequest(name=name, text="go"))).turn_id
        held = await runner.take()
        await held.command("prompt")
        await held.ready()
        await held.ready(turn, input_tokens=100, output_tokens=20)
        await counted(streaming, name, 120)
        await held.ready("trn_of_another_session", input_tokens=7)
        await held.ready(turn, input_tokens=-5, output_tokens=2**62)
        await counted(streaming, name, 2**53)
        await held.ready(turn, input_tokens=200, output_tokens=40)
        await counted(streaming, name, 240)
        await held.settle(turn, usage=runners.Usage(input_tokens=200, output_tokens=50))
        assert await tokens(streaming, name) == 250
        await held.ready(turn, input_tokens=1)
        again = (await streaming.sessions.PromptSession(pb.PromptSessionRequest(name=name, text="go on"))).turn_id
        await held.command("prompt")
        assert await tokens(streaming, name) == 0
        await held.ready(again, input_tokens=9)
        await counted(streaming, name, 9)
        first = await streaming.sessions.GetTurn(pb.GetTurnRequest(name=name, turn_id=turn))
        assert first.tokens == 250, "what has ended has its price"


async def test_an_end_that_tells_no_cost_keeps_what_was_told_before(streaming: Streaming) -> None:
    name = await streaming.session()
    async with running(streaming) as runner:
        turn = (await streaming.sessions.PromptSession(pb.PromptSessionRequest(name=name, text="go"))).turn_id
        held = await runner.take()
        await held.command("prompt")
        await held.ready(turn, output_tokens=11)
        await counted(streaming, name, 11)
        await held.exit("child_exit")
        ended = await streaming.sessions.GetTurn(pb.GetTurnRequest(name=name))
        assert (ended.code, ended.tokens) == ("child_exit", 11)
