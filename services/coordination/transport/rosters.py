"""CoordinationService: thread mode, registration, the roster."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

import grpc

from services.coordination.application.ports import Page, Place
from services.coordination.application.registering import Registering
from services.coordination.application.roster import Roster
from services.coordination.application.thread_mode import PolicyChange, ThreadMode
from services.coordination.domain import limits
from services.coordination.transport import names, translate
from services.coordination.transport.access import PEOPLE, READERS, caller_for
from services.coordination.transport.calling import command
from services.kernel.errors import Invalid
from services.kernel.paging import PageTokens, page_size
from services.kernel.principal import Principal
from treadle.coordination.v1 import coordination_service_pb2 as pb
from treadle.coordination.v1.coordination_service_pb2_grpc import CoordinationServiceServicer

_Context = grpc.aio.ServicerContext[Any, Any]
_PAGE: Final = 200


class RosterMethods(CoordinationServiceServicer):
    """Thin: translate, call, translate."""

    def __init__(self, thread_mode: ThreadMode, registering: Registering, roster: Roster, tokens: PageTokens) -> None:
        self._thread_mode = thread_mode
        self._registering = registering
        self._roster = roster
        self._worker_tokens = tokens

    async def SetThreadMode(self, request: pb.SetThreadModeRequest, context: _Context) -> pb.SetThreadModeResponse:
        """On or off."""
        asked = command(request, PEOPLE, limits.session_id(request.session_id, "session_id"))
        if not request.HasField("enabled"):
            raise Invalid("INVALID_ARGUMENT", "enabled must be given: true or false", field="enabled")
        policy = translate.policy_change(request.policy) if request.HasField("policy") else PolicyChange()
        now = await self._thread_mode.set(asked, request.enabled, policy)
        return pb.SetThreadModeResponse(
            ok=True, session_id=now.session_id, enabled=now.enabled, policy=translate.policy(now)
        )

    async def RegisterWorker(self, request: pb.RegisterWorkerRequest, context: _Context) -> pb.RegisterWorkerResponse:
        """A session that runs elsewhere."""
        session_id = limits.session_id(request.coordinator_session_id, "coordinator_session_id")
        asked = command(request, PEOPLE, session_id)
        worker_session_id = limits.session_id(request.worker_session_id, "worker_session_id")
        name = await self._registering.register(asked, request.name, worker_session_id, request.brief)
        seen = await self._roster.worker(asked.caller, session_id, name)
        return pb.RegisterWorkerResponse(ok=True, thread=translate.worker(seen))

    async def GetRoster(self, request: pb.GetRosterRequest, context: _Context) -> pb.Roster:
        """The record and a page of its workers."""
        session_id = limits.session_id(request.coordinator_session_id, "coordinator_session_id")
        reader = caller_for(READERS, session_id)
        page = await self._page(reader, session_id, request.page_size, request.page_token)
        record = await self._roster.record(reader, session_id)
        coordinator = record.coordinator
        return pb.Roster(
            coordinator_session_id=session_id,
            enabled=coordinator.enabled,
            updated_at=int(record.changed_at.timestamp()),
            notes=record.notes,
            note_count=record.note_count,
            threads=[translate.worker(one) for one in page.workers],
            next_page_token=self._next(reader, session_id, page),
            policy=translate.policy(coordinator),
            spent_seconds=coordinator.spent_ms // 1000,
            spent_tokens=coordinator.spent_tokens,
        )

    async def ListWorkers(self, request: pb.ListWorkersRequest, context: _Context) -> pb.ListWorkersResponse:
        """A page; none where there is no record."""
        session_id = names.session_id(request.parent)
        reader = caller_for(READERS, session_id)
        then = translate.moment("open_at", request.open_at) if request.HasField("open_at") else None
        page = await self._page(reader, session_id, request.page_size, request.page_token, then)
        answer = pb.ListWorkersResponse(
            ok=True,
            threads=[translate.worker(one) for one in page.workers],
            next_page_token=self._next(reader, session_id, page, then),
        )
        own = await self._roster.assignment(reader, session_id)
        if own is not None:
            answer.assignment.CopyFrom(translate.worker(own))
        return answer

    async def _page(
        self, reader: Principal, session_id: str, size: int, token: str, open_at: datetime | None = None
    ) -> Page:
        size = page_size(size, default=_PAGE, most=_PAGE)
        position = self._worker_tokens.decode(token, _query(reader, session_id, open_at))
        after = None
        if position is not None:
            after = Place(datetime.fromisoformat(position["time"]), str(position["id"]))
        return await self._roster.page(reader, session_id, after, size, open_at)

    def _next(self, reader: Principal, session_id: str, page: Page, open_at: datetime | None = None) -> str:
        if page.end is None:
            return ""
        # The whole timestamp, to the microsecond: a shortened one skips or repeats rows (PUB24).
        place = {"time": page.end.created_at.astimezone(UTC).isoformat(), "id": page.end.worker_id}
        return self._worker_tokens.encode(place, _query(reader, session_id, open_at))


def _query(reader: Principal, session_id: str, open_at: datetime | None) -> list[object]:
    return [reader.tenant, session_id, *([] if open_at is None else [open_at])]
