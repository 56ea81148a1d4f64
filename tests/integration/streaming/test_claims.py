"""Claims of sessions that are repeated (design/streaming.md S.5, PUB08)."""

from __future__ import annotations

import asyncio

from tests.integration.streaming.agent_runner import FakeRunner
from tests.integration.streaming.client import Streaming
from tests.integration.streaming.conftest import StartReplica
from treadle.streaming.v1 import session_service_pb2 as pb


async def test_pub08_a_claim_and_its_repeat_at_one_moment_on_two_replicas_are_one(
    streaming: Streaming, start_replica: StartReplica, rounds: int
) -> None:
    other = await start_replica()
    # Runners of one name count their claims alike: each round's claims are one and the same.
    runners = [FakeRunner(one) for one in (streaming, other, streaming, other)]
    await asyncio.gather(*(one.announce() for one in runners))
    for _ in range(rounds):
        for _ in range(2):
            request = pb.PromptSessionRequest(name=await streaming.session(), text="go")
            await streaming.sessions.PromptSession(request)
        answers = await asyncio.gather(*(one.claim_jobs() for one in runners))
        leases = [[(job.id, job.fence) for job in jobs] for jobs in answers]
        assert len(leases[0]) == 1
        assert leases == leases[:1] * 4
