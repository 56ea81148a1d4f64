"""A person and a runner, over one channel to a threads service."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
import orjson
from google.protobuf.duration_pb2 import Duration

from services.kernel.grpc_errors import refusal_from
from services.kernel.lifecycle import Lifecycle
from treadle.threads.v1 import catalog_service_pb2_grpc, job_service_pb2, job_service_pb2_grpc, thread_service_pb2_grpc
from treadle.threads.v1 import thread_service_pb2 as pb

INFERENCE, EXECUTION = job_service_pb2.Job.KIND_INFERENCE, job_service_pb2.Job.KIND_EXECUTION
ALL_DEFAULT = b"{}"
TASK = {"kind": "standard", "name": "task_create", "parameters": {"task_text": "call"}, "plan_summary": "Call them"}


class Client:
    """Stubs and the moves that every test needs. A refusal is raised as the kernel's type."""

    def __init__(self, channel: grpc.aio.Channel, life: Lifecycle, address: str = "") -> None:
        self.channel = channel
        self.life = life
        self.address = address
        self.people: Any = thread_service_pb2_grpc.ThreadServiceStub(channel)
        self.runner: Any = job_service_pb2_grpc.JobServiceStub(channel)
        self.catalogue: Any = catalog_service_pb2_grpc.CatalogServiceStub(channel)

    async def create(self, title: str = "Call the plumber", **fields: Any) -> pb.Thread:
        """A new thread; the policy is all-default unless given, so that it asks at every gate."""
        fields.setdefault("autonomy_json", ALL_DEFAULT)
        return await told(self.people.CreateThread(pb.CreateThreadRequest(title=title, **fields)))

    async def get(self, name: str) -> pb.Thread:
        """The card."""
        return await told(self.people.GetThread(pb.GetThreadRequest(name=name)))

    async def state(self, name: str) -> str:
        """The state in lower case."""
        return state_name((await self.get(name)).state)

    async def events(self, name: str) -> list[tuple[str, dict[str, Any]]]:
        """The whole log as (kind, data)."""
        request = pb.ListThreadEventsRequest(name=name, page_size=1000)
        page = await told(self.people.ListThreadEvents(request))
        return [(event.kind, orjson.loads(event.data_json)) for event in page.events]

    async def claim(
        self, *kinds: int, wait: float = 5.0, claim_id: str = "", most: int = 1
    ) -> list[job_service_pb2.Job]:
        """Jobs, of all kinds unless told."""
        request = job_service_pb2.ClaimJobsRequest(
            runner_id="runner-1",
            kinds=list(kinds) or [INFERENCE, EXECUTION],  # type: ignore[arg-type]
            max_jobs=most,
            claim_id=claim_id or secrets.token_hex(8),
            wait=Duration(seconds=int(wait), nanos=int(wait % 1 * 1e9)),
        )
        return list((await told(self.runner.ClaimJobs(request, timeout=wait + 10))).jobs)

    async def take(self, *kinds: int) -> job_service_pb2.Job:
        """Exactly one job."""
        (job,) = await self.claim(*kinds)
        return job

    async def complete(self, job: job_service_pb2.Job, result: dict[str, Any]) -> None:
        """With a result."""
        request = job_service_pb2.CompleteJobRequest(job_id=job.id, fence=job.fence, result_json=orjson.dumps(result))
        await told(self.runner.CompleteJob(request))

    async def fail(self, job: job_service_pb2.Job, code: str, *, retryable: bool = False) -> None:
        """Without one."""
        request = job_service_pb2.FailJobRequest(
            job_id=job.id, fence=job.fence, code=code, detail="ZX-SECRET-7", retryable=retryable
        )
        await told(self.runner.FailJob(request))

    async def start(self, job: job_service_pb2.Job) -> None:
        """The first effect follows."""
        await told(self.runner.StartExecution(job_service_pb2.StartExecutionRequest(job_id=job.id, fence=job.fence)))

    async def infer(self, action: dict[str, Any] | None = None) -> job_service_pb2.Job:
        """Claims one inference and answers it."""
        job = await self.take(INFERENCE)
        target = orjson.loads(job.payload_json)["target"]
        payload = (action or TASK) if target == "action" else {target: f"the {target}"}
        await self.complete(job, {"payload": payload, "confidence": 0.9, "model_used": "scripted"})
        return job

    async def to_gate(self, action: dict[str, Any] | None = None, **fields: Any) -> pb.Thread:
        """A new thread at awaiting_confirmation."""
        thread = await self.create(**fields)
        for _ in range(2):
            await self.infer()
            await self.accept(thread.name)
        await self.infer(action)
        return await self.get(thread.name)

    async def accept(self, name: str, card: pb.Thread | None = None, **fields: Any) -> pb.Decision:
        """Says yes, citing the card's proposal where one is given."""
        if card is not None:
            fields |= citation(card)
        return await told(self.people.AcceptThread(pb.AcceptThreadRequest(name=name, **fields)))

    async def execute(self, *, success: bool = True) -> job_service_pb2.Job:
        """Claims one execution, starts it and ends it."""
        job = await self.take(EXECUTION)
        await self.start(job)
        if success:
            await self.complete(job, {"success": True, "result": {}})
        else:
            await self.fail(job, "action_failed")
        return job


def citation(card: pb.Thread) -> dict[str, str]:
    """The proposal on a card, as decisions cite it."""
    (action,) = card.actions
    return {"proposal_id": action.proposal_id, "proposal_digest": action.proposal_digest}


def state_name(state: int) -> str:
    """`STATE_DONE` as `done`."""
    return pb.Thread.State.Name(state).removeprefix("STATE_").lower()  # type: ignore[arg-type]


async def told(call: Any) -> Any:
    """Awaits a call; a refusal comes out as the kernel's type."""
    try:
        return await call
    except grpc.aio.AioRpcError as error:
        raise (refusal_from(error) or error) from None


async def until(condition: Callable[[], Awaitable[bool]], seconds: float = 10.0) -> None:
    """Waits for a condition."""
    async with asyncio.timeout(seconds):
        while not await condition():
            await asyncio.sleep(0.02)
