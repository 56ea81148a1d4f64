"""A session that runs elsewhere, or was opened by hand, becomes a worker of kind `session` (A6)."""

from __future__ import annotations

from services.coordination.application.acting import Command
from services.coordination.application.placing import place
from services.coordination.application.work import Work, Workshop
from services.coordination.domain import errors, limits
from services.coordination.domain.worker import Coordinator, Kind, Status, Worker
from services.kernel.clock import Clock
from services.kernel.errors import Invalid
from services.kernel.ids import NewId


class Registering:
    """The use case."""

    def __init__(self, workshop: Workshop, clock: Clock, new_id: NewId) -> None:
        self._workshop = workshop
        self._clock = clock
        self._new_id = new_id

    async def register(self, command: Command, name: str, worker_session_id: str, brief: str) -> str:
        """Answers the worker's name. The coordinator's record is made (enabled) where there is none; a flag that is
        off stays off."""
        limits.worker_name(name)
        if worker_session_id == command.session_id:
            message = "worker_session_id must not be the coordinator's own"
            raise Invalid("INVALID_ARGUMENT", message, field="worker_session_id")
        brief = limits.brief(brief)
        async with self._workshop.work() as work:
            if await command.remembered(work, "RegisterWorker") is not None:
                return name
            coordinator = await self._coordinator(work, command, worker_session_id)
            now = self._clock.now()
            worker = Worker(
                tenant=command.tenant,
                id=self._new_id("wrk"),
                coordinator_id=coordinator.session_id,
                name=name,
                kind=Kind.SESSION,
                status=Status.RUNNING,
                brief=brief,
                session_id=worker_session_id,
                spawned_by=command.by,
                created_at=now,
                updated_at=now,
                started_at=now,
            )
            worker = await place(work, coordinator, worker)
            await work.fact(worker, "registered", command.by, now)
            await work.store(b"")
            return name

    async def _coordinator(self, work: Work, command: Command, worker_session_id: str) -> Coordinator:
        """The coordinator, locked. No chain of coordinators comes into being: it is no worker itself, and the worker
        has none (depth 1, C.2)."""
        tenant, session_id, now = command.tenant, command.session_id, self._clock.now()
        await work.hold_sessions(tenant, session_id, worker_session_id)
        for one in (session_id, worker_session_id):
            if await work.session_deleted(tenant, one):
                raise errors.session_not_found(one)
        if await work.worker_of_session(tenant, session_id) is not None:
            raise errors.depth_exceeded()
        # In the order of ids, since another registration may want the same two.
        records: dict[str, Coordinator | None] = {}
        for one in sorted((session_id, worker_session_id)):
            if one == session_id:
                records[one] = await work.make_coordinator(Coordinator(tenant, one, True, now, now))
            else:
                records[one] = await work.coordinator(tenant, one)
        if records[worker_session_id] is not None and (await work.count_workers(tenant, worker_session_id))[1]:
            raise errors.depth_exceeded()
        coordinator = records[session_id]
        assert coordinator is not None, "it was made"
        return coordinator
