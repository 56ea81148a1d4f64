"""Who works for a coordinator, and how they stand. Never blocks, works while thread mode is off."""

from __future__ import annotations

from datetime import datetime

from services.coordination.application.ports import CoordinatorSeen, Page, Place, Reads, Seen
from services.coordination.domain import errors
from services.kernel.principal import Principal


class Roster:
    """The queries; every one is inside the caller's tenant."""

    def __init__(self, reads: Reads) -> None:
        self._reads = reads

    async def record(self, caller: Principal, session_id: str) -> CoordinatorSeen:
        """The coordinator's record; COORDINATOR_NOT_FOUND where there is none."""
        seen = await self._reads.coordinator(caller.tenant, session_id)
        if seen is None:
            raise errors.coordinator_not_found(session_id)
        return seen

    async def page(
        self, caller: Principal, session_id: str, after: Place | None, size: int, open_at: datetime | None = None
    ) -> Page:
        """Its workers, oldest first; none where there is no record. `open_at`: those that were open then."""
        return await self._reads.workers(caller.tenant, session_id, after, size, open_at)

    async def assignment(self, caller: Principal, session_id: str) -> Seen | None:
        """The worker that the session is itself; None for most."""
        own = await self._reads.worker_of_session(caller.tenant, session_id)
        return None if own is None else await self._reads.worker(caller.tenant, own.coordinator_id, own.name)

    async def worker(self, caller: Principal, coordinator_id: str, name: str) -> Seen:
        """One worker, as it is now."""
        seen = await self._reads.worker(caller.tenant, coordinator_id, name)
        if seen is None:
            raise errors.worker_not_found(name)
        return seen
