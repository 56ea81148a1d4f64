"""What a test says to the coordination service about results, waits and injections."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import grpc

from services.kernel.principal import Principal
from tests.integration.coordination.client import PERSON, Coordination, agent, bearing
from treadle.coordination.v1 import coordination_service_pb2 as pb

MIB = 1024 * 1024


class Results:
    """A replica under test. Each method is an RPC."""

    def __init__(self, coordination: Coordination) -> None:
        self.stub = coordination.stub

    async def collect(
        self, session: str, name: str, by: Principal | None = None, **fields: Any
    ) -> pb.CollectResultResponse:
        """CollectResult, by the session's own agent where nobody else is named."""
        request = pb.CollectResultRequest(parent=f"sessions/{session}", thread_name=name, **fields)
        return await self.stub.CollectResult(request, metadata=bearing(by or agent(session)), timeout=60)

    async def pages(self, session: str, name: str, **fields: Any) -> list[pb.CollectResultResponse]:
        """All pages."""
        pages = [await self.collect(session, name, **fields)]
        while pages[-1].next_page_token:
            pages.append(await self.collect(session, name, **{**fields, "page_token": pages[-1].next_page_token}))
        return pages

    async def report(
        self,
        session: str,
        name: str,
        text: str,
        *,
        final: bool = False,
        by: Principal | None = None,
        request_id: str = "",
        stub: Any = None,
    ) -> pb.ReportResultResponse:
        """ReportResult, by the session's own agent where nobody else is named."""
        request = pb.ReportResultRequest(
            parent=f"sessions/{session}", thread_name=name, text=text, final=final, request_id=request_id
        )
        metadata = bearing(by or agent(session))
        answer: pb.ReportResultResponse = await (stub or self.stub).ReportResult(request, metadata=metadata)
        return answer

    async def compose(self, session: str, turn_id: str = "trn_1", by: Principal | None = None) -> pb.Injection:
        """ComposeContext, by the session's own agent where nobody else is named."""
        request = pb.ComposeContextRequest(parent=f"sessions/{session}", turn_id=turn_id)
        return await self.stub.ComposeContext(request, metadata=bearing(by or agent(session)))

    async def injected(self, session: str, turn_id: str = "", by: Principal = PERSON) -> pb.Injection:
        """GetInjection."""
        request = pb.GetInjectionRequest(parent=f"sessions/{session}", turn_id=turn_id)
        return await self.stub.GetInjection(request, metadata=bearing(by))

    def wait(
        self,
        session: str,
        mode: str = "ALL",
        *,
        n: int = 0,
        names: Sequence[str] = (),
        seconds: int = 30,
        by: Principal | None = None,
    ) -> Wait:
        """WaitWorkers, in the background."""
        request = pb.WaitWorkersRequest(
            parent=f"sessions/{session}",
            mode=pb.WaitWorkersRequest.Mode.Value(f"MODE_{mode}"),
            n=n,
            names=names,
            timeout_seconds=seconds,
        )
        return Wait(self.stub.WaitWorkers(request, metadata=bearing(by or agent(session))))


class Wait:
    """A wait under way."""

    def __init__(self, call: Any) -> None:
        self.call = call
        self.workers: list[pb.Worker] = []
        self.done: pb.WaitWorkersResponse.Done | None = None
        self.error: grpc.aio.AioRpcError | None = None
        self._task = asyncio.create_task(self._read())

    async def _read(self) -> None:
        try:
            async for event in self.call:
                assert self.done is None, "nothing follows the last event"
                if event.WhichOneof("event") == "worker":
                    self.workers.append(event.worker)
                else:
                    self.done = event.done
        except grpc.aio.AioRpcError as error:
            self.error = error

    @property
    def names(self) -> list[str]:
        """Who has ended, in the order told."""
        return [one.name for one in self.workers]

    async def over(self, seconds: float = 60) -> pb.WaitWorkersResponse.Done:
        """How it ended."""
        async with asyncio.timeout(seconds):
            await self._task
        if self.error is not None:
            raise self.error
        assert self.done is not None
        return self.done

    async def told(self, count: int, seconds: float = 60) -> list[str]:
        """Waits until so many have been told."""
        async with asyncio.timeout(seconds):
            while len(self.workers) < count:
                await asyncio.sleep(0.01)
        return self.names

    async def cancel(self) -> None:
        """The client goes."""
        self.call.cancel()
        await asyncio.wait([self._task])
