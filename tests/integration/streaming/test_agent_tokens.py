"""A turn may live longer than its agent's token: who holds the session's job, and nobody else, gets a new one."""

from __future__ import annotations

import jwt

from tests.integration.streaming.agent_runner import running
from tests.integration.streaming.client import Streaming
from tests.integration.streaming.test_turns import prompt, refused
from treadle.streaming.v1 import job_service_pb2 as jobs


async def test_the_holder_of_a_job_gets_a_new_token_for_its_session_alone(streaming: Streaming) -> None:
    name = await streaming.session()
    async with running(streaming) as runner:
        await prompt(streaming, name, "one")
        held = await runner.take()
        ask = jobs.RenewAgentTokenRequest(job_id=held.job.id, fence=held.job.fence)
        renewed, first = (
            jwt.decode(token, options={"verify_signature": False})
            for token in ((await runner.stub.RenewAgentToken(ask)).agent_token, held.payload["agent_token"])
        )
        assert f"sessions/{renewed['sub']}" == name
        assert {**renewed, "exp": 0} == {**first, "exp": 0}
        assert renewed["exp"] >= first["exp"]
        ask.fence += 1
        await refused(runner.stub.RenewAgentToken(ask), "LEASE_LOST")
        await refused(runner.stub.RenewAgentToken(jobs.RenewAgentTokenRequest(job_id="job_none")), "JOB_NOT_FOUND")
