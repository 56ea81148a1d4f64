"""CoordinationService: what is done to workers."""

from __future__ import annotations

from typing import Any, Final

import grpc

from services.coordination.application.cancelling import Cancelling
from services.coordination.application.roster import Roster
from services.coordination.application.spawning import Spawning
from services.coordination.application.statuses import Statuses
from services.coordination.domain import limits
from services.coordination.transport import names, translate
from services.coordination.transport.access import AUTHORS
from services.coordination.transport.calling import command
from services.kernel.errors import TooLarge
from treadle.coordination.v1 import coordination_service_pb2 as pb
from treadle.coordination.v1.coordination_service_pb2_grpc import CoordinationServiceServicer

_Context = grpc.aio.ServicerContext[Any, Any]
_BATCH_BYTES: Final = 3 * 1024 * 1024
"""More than 64 items at their limits have; names come back in the answer, which has its own limit."""


class WorkerMethods(CoordinationServiceServicer):
    """Thin: translate, call, translate."""

    def __init__(self, spawning: Spawning, cancelling: Cancelling, statuses: Statuses, roster: Roster) -> None:
        self._spawning = spawning
        self._cancelling = cancelling
        self._statuses = statuses
        self._workers = roster

    async def SpawnWorkers(self, request: pb.SpawnWorkersRequest, context: _Context) -> pb.SpawnWorkersResponse:
        """Item by item."""
        asked = command(request, AUTHORS, names.session_id(request.parent))
        if request.ByteSize() > _BATCH_BYTES:
            message = f"threads must be at most {_BATCH_BYTES} bytes together"
            raise TooLarge("VALUE_TOO_LARGE", message, field="threads", limit=_BATCH_BYTES)
        spawned = await self._spawning.spawn(asked, [translate.spec(one) for one in request.threads])
        threads = [translate.spawned(spec, one) for spec, one in zip(request.threads, spawned, strict=True)]
        return pb.SpawnWorkersResponse(ok=True, threads=threads)

    async def CancelWorker(self, request: pb.CancelWorkerRequest, context: _Context) -> pb.CancelWorkerResponse:
        """At once, or by asking."""
        asked = command(request, AUTHORS, names.session_id(request.parent))
        name = limits.worker_name(request.thread_name, "thread_name")
        await self._cancelling.cancel(asked, name, request.reason)
        seen = await self._workers.worker(asked.caller, asked.session_id, name)
        return pb.CancelWorkerResponse(thread=translate.worker(seen))

    async def SetWorkerStatus(self, request: pb.SetWorkerStatusRequest, context: _Context) -> pb.Worker:
        """Of a registered worker."""
        asked = command(request, AUTHORS, names.session_id(request.parent))
        name = limits.worker_name(request.thread_name, "thread_name")
        coordinator_id, name = await self._statuses.set(asked, name, translate.status(request.status))
        return translate.worker(await self._workers.worker(asked.caller, coordinator_id, name))
