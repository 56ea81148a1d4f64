"""A prompt that no agent was told of outlives the runner that would have told it (S.5): the next one carries it out.
A turn whose agent may have heard of it fails as ever."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

import pytest

from services.kernel.postgres import Database
from services.kernel.settings import load
from services.streaming.settings import StreamingSettings
from tests.integration.streaming.agent_runner import FakeRunner, Held, running
from tests.integration.streaming.client import Streaming
from tests.integration.streaming.conftest import _replica
from tests.integration.streaming.test_turn_records import turn_of
from tests.integration.streaming.test_turns import get, prompt, reached, refused, told
from treadle.streaming.v1 import session_service_pb2 as pb

State = pb.Session.State
Start = Callable[[], Awaitable[Streaming]]


@pytest.fixture
def start(database_url: str, nats_url: str, stack: AsyncExitStack) -> Start:
    """A replica for which a runner is lost after a second of silence; a session waits a minute for one in all."""

    async def one(unclaimed: float = 60) -> Streaming:
        settings = load(
            StreamingSettings,
            listen="127.0.0.1:0",
            planning_target="none",
            streaming_database_url=database_url,
            nats_url=nats_url,
            session_lease_seconds=1,
            unclaimed_seconds=unclaimed,
        )
        return await _replica(settings, stack)

    return one


async def idle(streaming: Streaming, runner: FakeRunner, name: str) -> Held:
    """An agent that has ended a turn, and its runner killed a moment ago."""
    turn = await prompt(streaming, name, "first")
    held = await runner.take()
    await held.command("prompt")
    await held.settle(turn, final_text="one")
    await held.upload(turn, b"state 1")
    runner.silence()
    await held.detach()
    return held


async def test_a_prompt_right_after_the_runner_was_killed_is_carried_out_by_the_next_one(start: Start) -> None:
    streaming, other = await start(), await start()
    name = await streaming.session()
    async with running(streaming) as killed, running(other, runner_id="runner-2") as next_one:
        old = await idle(streaming, killed, name)
        turn = await prompt(streaming, name, "second")
        before = await get(streaming, name)
        held = await next_one.take(seconds=60)
        assert held.payload["agent_state"]
        command = await held.command("prompt")
        assert (command.turn_id, command.prompt.text) == (turn, "second")
        assert held.generation == before.generation + 1
        async with streaming.listening(name) as reader:
            await reader.until(lambda one: bool(told(one, "turn")))
            assert told(reader, "prompt", "turn") == [("prompt", "second"), ("turn", "running")]
            await held.text("two")
            await held.settle(turn, final_text="two")
            await reader.until(lambda one: told(one, "turn")[-1] == ("turn", "idle"))
        shown = await turn_of(streaming, name)
        assert (shown.id, shown.number, shown.outcome) == (turn, 2, "ok")
        page = await streaming.sessions.ListMessages(pb.ListMessagesRequest(parent=name))
        assert [one.text for one in page.messages] == ["first", "one", "second", "two"]
        await refused(old.attach(), "LEASE_LOST")  # who comes back late is told of nothing


async def test_a_runner_that_claimed_and_never_attached_loses_no_prompt_nor_what_was_said_since(start: Start) -> None:
    streaming = await start()
    name = await streaming.session()
    async with running(streaming) as killed, running(streaming, runner_id="runner-2") as next_one:
        turn = await prompt(streaming, name, "do it")
        (job,) = await killed.claim_jobs()
        await streaming.sessions.SteerSession(pb.SteerSessionRequest(name=name, text="and well"))
        held = await next_one.take(seconds=60)
        assert held.job.id != job.id
        assert (await held.command("prompt")).prompt.text == "do it"
        assert (await held.command("steer")).steer.text == "and well"
        async with streaming.listening(name) as reader:
            await reader.until(lambda one: bool(told(one, "turn")))
            assert told(reader, "prompt") == [("prompt", "do it"), ("prompt", "and well")]
        await held.settle(turn, final_text="done")
        assert (await get(streaming, name)).outcome == "ok"


async def test_what_an_agent_was_told_and_never_said_to_have_taken_is_not_done_twice(start: Start) -> None:
    streaming = await start()
    name = await streaming.session()
    async with running(streaming) as killed:
        turn = await prompt(streaming, name)
        held = await killed.take()
        await held.until(lambda: bool(held.commands))
        killed.silence()
        await held.detach()
        session = await reached(streaming, name, State.STATE_FAILED, 60)
        assert (session.code, session.turn_id) == ("runner_lost", turn)


async def test_a_turn_that_is_to_be_aborted_is_not_begun_again(start: Start) -> None:
    streaming = await start()
    name = await streaming.session()
    async with running(streaming) as killed:
        await idle(streaming, killed, name)
        await prompt(streaming, name, "second")
        await streaming.sessions.AbortSession(pb.AbortSessionRequest(name=name))
        assert (await reached(streaming, name, State.STATE_IDLE, 60)).outcome == "aborted"


async def test_a_prompt_whose_runners_are_all_lost_is_not_begun_for_ever(
    start: Callable[..., Awaitable[Streaming]],
) -> None:
    streaming = await start(2)
    name = await streaming.session()
    async with running(streaming) as lossy:
        await prompt(streaming, name)

        async def lose() -> None:
            while True:
                await lossy.claim_jobs(seconds=1)

        losing = asyncio.create_task(lose())
        session = await reached(streaming, name, State.STATE_FAILED, 60)
        losing.cancel()
        assert session.code in ("runner_lost", "start_failed")


@pytest.mark.parametrize("attempt", range(3))
async def test_no_runner_is_told_once_its_job_has_ended(start: Start, database: Database, attempt: int) -> None:
    """The holder of an expired lease comes back in the moment of the sweep: either it was told, and the turn failed, or
    the next runner is told."""
    streaming = await start()
    name = await streaming.session(title=f"attempt {attempt}")
    async with running(streaming) as pausing, running(streaming, runner_id="runner-2") as next_one:
        held = await idle(streaming, pausing, name)
        turn = await prompt(streaming, name, "second")
        async with database.connection() as tx:
            before = "SELECT clock_timestamp() < lease_until FROM jobs WHERE id = $1"
            while await tx.raw.fetchval(before, held.job.id):
                await asyncio.sleep(0.01)
        back = asyncio.create_task(held.attach())
        claiming = asyncio.create_task(next_one.take(seconds=60))
        await asyncio.wait([back])
        if back.exception() is None and await heard(held):
            assert (await reached(streaming, name, State.STATE_FAILED, 60)).code == "runner_lost"
            claiming.cancel()
        else:
            assert (await (await claiming).command("prompt")).turn_id == turn


async def heard(held: Held) -> bool:
    def told_of_it() -> bool:
        return any(one.HasField("prompt") for one in held.commands)

    await held.until(lambda: held.ended.is_set() or told_of_it(), 60)
    return told_of_it()
