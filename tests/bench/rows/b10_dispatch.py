"""B10: a command that makes a job, to the answer of the one claim that waits for it; 32 workers, spawned to collected.

An inference's job (CreateThread), an execution's (AcceptThread) and a session's (PromptSession where no agent is),
each through its service's gRPC with the claim already open; counted from the command's answer. The raw limit leases
the same row. Workers go through REST on a running `treadle up`; their raw limit is the same work in plain sessions.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from itertools import count
from typing import Any

import grpc

from services.engines import engines
from tests.bench.attach_pump import new_session
from tests.bench.databases import Databases
from tests.bench.deployables import Deployable, site
from tests.bench.dispatch import Dispatched, dispatched
from tests.bench.figures import AtMost, Figure, percentile
from tests.bench.population import create_request, populate
from tests.bench.raw_dispatch import raw_dispatch
from tests.bench.waiting_runners import StreamingRunner, ThreadsRunner
from tests.bench.workbench import Workbench
from tests.bench.worker_fan_out import WORKERS, fan_out
from treadle.streaming.v1 import session_service_pb2 as sessions
from treadle.streaming.v1.session_service_pb2_grpc import SessionServiceStub
from treadle.threads.v1 import job_service_pb2 as jobs
from treadle.threads.v1 import thread_service_pb2 as pb
from treadle.threads.v1.thread_service_pb2_grpc import ThreadServiceStub

ROW = "B10"
ABOUT = "dispatch of one job to a waiting runner; 32 workers spawned to all collected"
_WARM = 10


@dataclass(frozen=True, slots=True)
class _Service:
    """Who asks and who works are two clients: each has a connection of its own."""

    people: grpc.aio.Channel
    runner: grpc.aio.Channel


class _Dispatches:
    """The three kinds, on services that live through all rounds; `each` of a kind in a round."""

    def __init__(self, threads: _Service, streaming: _Service, each: int) -> None:
        self._threads = threads
        self._streaming = streaming
        self._each = each + _WARM
        self._numbers = count(1)

    async def run(self) -> dict[str, Dispatched]:
        """One kind after the other, by what asks for it."""
        return {
            "CreateThread": await self._inference(),
            "AcceptThread": await self._execution(),
            "PromptSession": await self._session(),
        }

    async def _inference(self) -> Dispatched:
        people = ThreadServiceStub(self._threads.people)
        runner = ThreadsRunner(self._threads.runner, jobs.Job.KIND_INFERENCE)

        async def create(number: int) -> str:
            return (await people.CreateThread(create_request(number))).name

        return await dispatched(runner, [next(self._numbers) for _ in range(self._each)], create, _WARM)

    async def _execution(self) -> Dispatched:
        people = ThreadServiceStub(self._threads.people)
        runner = ThreadsRunner(self._threads.runner, jobs.Job.KIND_EXECUTION)

        async def accept(request: pb.AcceptThreadRequest) -> str:
            await people.AcceptThread(request)
            return request.name

        waiting = await populate(self._threads.people, self._each)
        requests = [
            pb.AcceptThreadRequest(name=one.name, proposal_id=one.proposal_id, proposal_digest=one.proposal_digest)
            for one in waiting
        ]
        return await dispatched(runner, requests, accept, _WARM)

    async def _session(self) -> Dispatched:
        people = SessionServiceStub(self._streaming.people)

        async def prompt(name: str) -> str:
            await people.PromptSession(sessions.PromptSessionRequest(name=name, text="Look at the calendar."))
            return name

        names = [await new_session(self._streaming.people) for _ in range(self._each)]
        return await dispatched(StreamingRunner(self._streaming.runner), names, prompt, _WARM)


async def measure(bench: Workbench) -> list[Figure]:
    """Both halves."""
    return [*await _workers(bench), *await _dispatch(bench)]


async def _workers(bench: Workbench) -> list[Figure]:
    """Seconds. The first round of all is warm: one has gone before it."""
    async with fan_out(bench.room(f"{ROW}-workers")) as running:
        await running.workers()
        values, raws = await bench.interleaved(ROW, lambda _: running.workers(), lambda _: running.sessions())
    what = f"{WORKERS} workers spawned to all collected"
    raw = f"{WORKERS} sessions opened, prompted and read, without coordination"
    return [Figure(ROW, what, "s", values, AtMost(3), raws, {"raw": raw})]


async def _dispatch(bench: Workbench) -> list[Figure]:
    """p50 and p99 of each kind. A quick run has as many dispatches: of fewer, the p99 would be the worst."""
    each, room = 200, bench.room(ROW)
    async with AsyncExitStack() as stack:
        servers = await stack.enter_async_context(engines(room / "engines"))
        databases = Databases(servers)
        threads_url, streaming_url = await databases.migrated("threads"), await databases.migrated("streaming")
        copy = await stack.enter_async_context(databases.copy_of("threads"))
        raw = await stack.enter_async_context(raw_dispatch(copy, servers.nats_url))
        place = await stack.enter_async_context(site(room, servers.nats_url, bench.profile))
        threads = await _clients(stack, await place.service("threads", threads_url))
        streaming = await _clients(
            stack, await place.service("streaming", streaming_url, TREADLE_PLANNING_TARGET="none")
        )
        ours = _Dispatches(threads, streaming, each)
        values, raws = await bench.interleaved(ROW, lambda _: ours.run(), lambda _: raw.run(each + _WARM, _WARM))
    kinds = list(values[0])
    return [figure for kind in kinds for figure in _figures(kind, [one[kind] for one in values], raws)]


async def _clients(stack: AsyncExitStack, service: Deployable) -> _Service:
    own = [("grpc.use_local_subchannel_pool", 1)]
    people, runner = [
        await stack.enter_async_context(grpc.aio.insecure_channel(service.address, options=own)) for _ in range(2)
    ]
    return _Service(people, runner)


def _figures(kind: str, values: Sequence[Dispatched], raws: Sequence[list[float]]) -> list[Figure]:
    """No client sees the moment of the commit. It lies between the command's call and its answer: from the call is the
    most that a dispatch took, from the answer the least."""
    what = f"{kind} answered to its claim's answer"
    raw = "the lease's UPDATE … RETURNING on asyncpg, woken by a core-NATS ping"
    samples = {"raw": raw, "samples": [one.after_answer for one in values], "raw_samples": list(raws)}
    return [
        _figure(f"{what}, p50", 0.5, [one.after_answer for one in values], raws, AtMost(20), samples),
        _figure(f"{what}, p99", 0.99, [one.after_answer for one in values], raws, None, {"raw": raw}),
        _figure(f"{kind} called to its claim's answer, p50", 0.5, [one.after_call for one in values], (), None, {}),
    ]


def _figure(
    what: str,
    at: float,
    values: Sequence[list[float]],
    raws: Sequence[list[float]],
    target: AtMost | None,
    details: dict[str, Any],
) -> Figure:
    ours, bare = [percentile(one, at) for one in values], [percentile(one, at) for one in raws]
    return Figure(ROW, what, "ms", ours, target, bare, details)
