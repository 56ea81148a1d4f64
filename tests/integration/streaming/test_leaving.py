"""A runner that wants an agent's place asks first: in a turn it is told to go on, between two it gets it (S.5)."""

from __future__ import annotations

from tests.integration.streaming.agent_runner import running
from tests.integration.streaming.client import Streaming
from tests.integration.streaming.test_turns import get, prompt, reached, refused
from treadle.streaming.v1 import job_service_pb2 as jobs
from treadle.streaming.v1 import session_service_pb2 as pb


async def test_an_agent_may_leave_between_two_turns_and_in_none(streaming: Streaming) -> None:
    name = await streaming.session()
    async with running(streaming) as runner:
        first = await prompt(streaming, name, "one")
        held = await runner.take()
        await held.command("prompt")
        leave = jobs.CompleteJobRequest(job_id=held.job.id, fence=held.job.fence, if_idle=True)
        metadata = await refused(runner.stub.CompleteJob(leave), "TURN_RUNNING")
        assert metadata["turn"] == first
        assert (await get(streaming, name)).agent == pb.Session.AGENT_LIVE
        await held.settle(first, final_text="done")
        await reached(streaming, name, pb.Session.STATE_IDLE)
        await runner.stub.CompleteJob(leave)
        await runner.stub.CompleteJob(leave)
        left = await get(streaming, name)
        assert (left.agent, left.state, left.outcome) == (pb.Session.AGENT_NONE, pb.Session.STATE_IDLE, "ok")
        second = await prompt(streaming, name, "two")
        again = await runner.take()
        assert again.job.id != held.job.id
        await again.command("prompt")
        await again.settle(second, final_text="done again")
        await reached(streaming, name, pb.Session.STATE_IDLE)
