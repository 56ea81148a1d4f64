"""Only the holder of a session's job writes into it (S.5): who has none, another one, or one that ended, is refused."""

from __future__ import annotations

import grpc
import pytest

from services.kernel.errors import Conflict
from services.kernel.grpc_errors import refusal_from
from services.kernel.ids import new_id
from services.kernel.postgres import Database
from services.streaming.adapters.postgres import PostgresSessions
from services.streaming.application.ports import SessionKey
from tests.integration.streaming.agent_runner import Held, running
from tests.integration.streaming.client import Streaming
from tests.integration.streaming.test_turns import get, prompt
from treadle.streaming.v1 import runner_service_pb2 as runners
from treadle.streaming.v1 import session_service_pb2 as pb


async def refusal(streaming: Streaming, **opening: object) -> tuple[str, str]:
    """(reason, field) of what an Attach that begins so is told."""
    call = streaming.runners.Attach()
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call.write(runners.AttachRequest(open=runners.AttachOpen(runner_id="r", **opening)))  # type: ignore[arg-type]
        while await call.read() is not grpc.aio.EOF:
            pass
        raise grpc.aio.AioRpcError(
            await call.code(), await call.initial_metadata(), await call.trailing_metadata(), await call.details()
        )
    told = refusal_from(caught.value)
    assert told is not None
    return told.reason, str(told.metadata.get("field", ""))


async def test_a_session_is_attached_to_by_its_job_alone(streaming: Streaming) -> None:
    mine, other = await streaming.session(), await streaming.session()
    async with running(streaming) as runner:
        turn = await prompt(streaming, mine)
        held = await runner.take()
        await held.command("prompt")
        before = await get(streaming, mine)
        job, fence = held.job.id, held.job.fence
        assert await refusal(streaming, session=mine) == ("INVALID_ARGUMENT", "job_id")
        assert await refusal(streaming, session=mine, fence=fence) == ("INVALID_ARGUMENT", "job_id")
        for session, told, number in (
            (mine, job, fence + 1),
            (mine, job, fence - 1),
            (other, job, fence),
            (f"sessions/{new_id('ses')}", job, fence),
        ):
            assert (await refusal(streaming, session=session, job_id=told, fence=number))[0] == "LEASE_LOST"
        assert (await refusal(streaming, session=mine, job_id=new_id("job"), fence=1))[0] == "JOB_NOT_FOUND"
        assert await get(streaming, mine) == before
        await held.text("still mine")  # nobody fenced the holder off
        await held.settle(turn, final_text="still mine")
        assert (await get(streaming, mine)).outcome == "ok"


async def test_a_holder_that_comes_after_its_job_ended_takes_nothing_from_the_next_one(
    streaming: Streaming, database: Database
) -> None:
    """It was looked at while it still held the job, and paused before it took the session."""
    name = await streaming.session()
    key = SessionKey("default", name.removeprefix("sessions/"))
    async with running(streaming) as runner:
        await prompt(streaming, name)
        old = await runner.take()
        await streaming.sessions.AbortSession(pb.AbortSessionRequest(name=name))
        await old.settle((await old.command("prompt")).turn_id, "aborted")
        await streaming.sessions.ResumeSession(pb.ResumeSessionRequest(name=name))
        held: Held = await runner.take()
        store = PostgresSessions(database)
        for epoch in (0, old.epoch):
            with pytest.raises(Conflict) as refused:
                await store.attach(key, epoch, old.job.id)
            assert refused.value.reason == "LEASE_LOST"
        number = await held.text("mine")
        await held.stored(number)
        assert not held.ended.is_set()
