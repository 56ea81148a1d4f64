"""CoordinationService: results, waits, reports, and what a turn is told."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any, Final

import grpc

from services.coordination.application.collecting import Ask, Collected, Collecting, Place
from services.coordination.application.injecting import Injecting
from services.coordination.application.reporting import Reporting
from services.coordination.application.roster import Roster
from services.coordination.application.waiting import Done, Mode, Waiting, Wish
from services.coordination.domain import limits
from services.coordination.domain.injection import Injection, digest
from services.coordination.domain.worker import Kind
from services.coordination.transport import names, translate
from services.coordination.transport.access import AUTHORS, READERS, RUNNERS, caller_for
from services.coordination.transport.calling import command
from services.kernel.errors import Invalid
from services.kernel.paging import PageTokens
from treadle.coordination.v1 import coordination_service_pb2 as pb
from treadle.coordination.v1.coordination_service_pb2_grpc import CoordinationServiceServicer

_Context = grpc.aio.ServicerContext[Any, Any]
_MODES: Final[dict[pb.WaitWorkersRequest.Mode.ValueType, Mode]] = {
    pb.WaitWorkersRequest.MODE_UNSPECIFIED: "all",
    pb.WaitWorkersRequest.MODE_ALL: "all",
    pb.WaitWorkersRequest.MODE_ANY: "any",
    pb.WaitWorkersRequest.MODE_QUORUM: "quorum",
}


class ResultMethods(CoordinationServiceServicer):
    """Thin: translate, call, translate."""

    def __init__(
        self,
        collecting: Collecting,
        waiting: Waiting,
        reporting: Reporting,
        injecting: Injecting,
        roster: Roster,
        tokens: PageTokens,
    ) -> None:
        self._collecting = collecting
        self._waiting = waiting
        self._reporting = reporting
        self._injecting = injecting
        self._reported = roster
        self._result_tokens = tokens

    async def CollectResult(self, request: pb.CollectResultRequest, context: _Context) -> pb.CollectResultResponse:
        """A page of a report, or a hint."""
        session_id = names.session_id(request.parent)
        reader = caller_for(READERS, session_id)
        name = limits.worker_name(request.thread_name, "thread_name")
        query = [reader.tenant, session_id, name, request.full_text]
        position = self._result_tokens.decode(request.page_token, query)
        place = None if position is None else Place(**position)
        ask = Ask(session_id, name, request.version, request.full_text, place)
        collected = await self._collecting.collect(reader, ask)
        answer = _collected(collected)
        if collected.next is not None:
            answer.next_page_token = self._result_tokens.encode(collected.next._asdict(), query)
        return answer

    async def WaitWorkers(
        self, request: pb.WaitWorkersRequest, context: _Context
    ) -> AsyncIterator[pb.WaitWorkersResponse]:
        """Ends as they come, then how the wait ended."""
        session_id = names.session_id(request.parent)
        reader = caller_for(READERS, session_id)
        if request.mode not in _MODES:
            raise Invalid("INVALID_ARGUMENT", "mode must be all, any or quorum", field="mode")
        waited = [limits.worker_name(name, "names") for name in request.names]
        if request.timeout_s and request.timeout_seconds not in (0, request.timeout_s):
            raise Invalid("INVALID_ARGUMENT", "timeout_s must be the same as timeout_seconds", field="timeout_s")
        seconds = request.timeout_seconds or request.timeout_s
        wish = Wish(session_id, _MODES[request.mode], request.n, waited, seconds)
        async with aclosing(self._waiting.wait(reader, wish)) as events:
            async for event in events:
                match event:
                    case Done():
                        yield pb.WaitWorkersResponse(done=_done(event))
                    case _:
                        yield pb.WaitWorkersResponse(worker=translate.worker(event))

    async def ReportResult(self, request: pb.ReportResultRequest, context: _Context) -> pb.ReportResultResponse:
        """A worker's own words."""
        asked = command(request, AUTHORS, names.session_id(request.parent))
        name = request.thread_name and limits.worker_name(request.thread_name, "thread_name")
        reported = await self._reporting.report(asked, name, request.text, request.final)
        seen = await self._reported.worker(asked.caller, reported.coordinator_id, reported.name)
        return pb.ReportResultResponse(version=reported.version, thread=translate.worker(seen))

    async def ComposeContext(self, request: pb.ComposeContextRequest, context: _Context) -> pb.Injection:
        """Once a turn."""
        session_id = names.session_id(request.parent)
        caller = caller_for((*AUTHORS, *RUNNERS), session_id)
        made = await self._injecting.compose(caller, session_id, request.turn_id)
        if made is None:
            return pb.Injection(session_id=session_id, turn_id=request.turn_id, sha256=digest(""))
        return _injection(made)

    async def GetInjection(self, request: pb.GetInjectionRequest, context: _Context) -> pb.Injection:
        """As it was."""
        session_id = names.session_id(request.parent)
        reader = caller_for(READERS, session_id)
        return _injection(await self._injecting.stored(reader, session_id, request.turn_id))


def _collected(one: Collected) -> pb.CollectResultResponse:
    worker, text = one.worker, one.text
    answer = pb.CollectResultResponse(
        collected=text is not None,
        thread_name=worker.name,
        status=translate.STATUSES[worker.status],
        reason=worker.reason,
        has_result=worker.has_result or text is not None,
        partial=worker.partial,
        hint=one.hint,
    )
    if text is None:
        if worker.kind is Kind.SESSION or worker.launches:
            answer.worker_session_id = worker.session_id
        return answer
    answer.partial = text.partial
    answer.result = text.page.text
    answer.found = text.found
    answer.version = text.version
    answer.final = text.final
    answer.result_length = text.page.length
    answer.result_sha256 = text.page.sha256
    translate.stamp(answer.as_of_time, text.at)
    return answer


def _done(one: Done) -> pb.WaitWorkersResponse.Done:
    return pb.WaitWorkersResponse.Done(
        satisfied=one.satisfied,
        ended=one.ended,
        waited_for=len(one.workers),
        threads=[translate.worker(seen) for seen in one.workers],
    )


def _injection(one: Injection) -> pb.Injection:
    message = pb.Injection(
        session_id=one.session_id, turn_id=one.turn_id, role=one.role, text=one.text, sha256=one.sha256
    )
    translate.stamp(message.create_time, one.created_at)
    return message
