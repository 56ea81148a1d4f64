"""Fake services behind the gateway: the generated servicers on a real gRPC server, told what to answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from google.protobuf import message_factory
from google.protobuf.descriptor import MethodDescriptor

from gateway.contexts import MODULES
from services.kernel.errors import NotFound, Refusal
from services.kernel.grpc_server import GrpcServer
from services.kernel.principal import Authenticator
from services.kernel.request import current
from treadle.streaming.v1.feed_service_pb2 import Frame, FrameBatch

Answer = Any
Handler = Callable[[Any], Awaitable[Any]]


@dataclass
class Script:
    """What the fakes answer, by RPC name, and what they were asked."""

    answers: dict[str, Answer | Refusal | Handler] = field(default_factory=dict)
    asked: list[tuple[str, Any]] = field(default_factory=list)
    callers: list[Any] = field(default_factory=list)
    request_ids: list[str] = field(default_factory=list)
    open_calls: int = 0

    def forget(self) -> None:
        """As new."""
        for kept in (self.answers, self.asked, self.callers, self.request_ids):
            kept.clear()

    def note(self, method: MethodDescriptor, request: Any) -> None:
        """Who asked what."""
        self.asked.append((method.name, request))
        context = current()
        assert context is not None
        self.callers.append(context.principal)
        self.request_ids.append(context.request_id)

    async def unary(self, method: MethodDescriptor, request: Any) -> Any:
        """The scripted answer, or an empty one."""
        self.note(method, request)
        answer = self.answers.get(method.name)
        if isinstance(answer, Exception):
            raise answer
        if callable(answer):
            return await answer(request)
        return answer if answer is not None else message_factory.GetMessageClass(method.output_type)()

    async def messages(self, method: MethodDescriptor, request: Any) -> AsyncIterator[Any]:
        """The scripted messages of a stream that ends: a list, or what a handler of the request yields."""
        answer = self.answers.get(method.name, [])
        self.open_calls += 1
        try:
            if callable(answer):
                async for message in answer(request):
                    yield message
            else:
                for message in answer:
                    yield message
        finally:
            self.open_calls -= 1


class FakeLog:
    """One stream's log, as the streaming service keeps it: cursors, resets and live events over gRPC."""

    def __init__(self, generation: int = 1, keep: int = 100_000) -> None:
        self.generation = generation
        self.events: list[Frame] = []
        self.newest = 0
        self.keep = keep
        self.open = 0
        self.subscribed: list[str] = []
        self.broken: Exception | None = None
        self.ended = False
        self._moved = asyncio.Event()

    def append(self, data: bytes, event: str = "text_delta", count: int = 1) -> None:
        """Appends the same event `count` times."""
        for _ in range(count):
            self.newest += 1
            self.events.append(Frame(id=f"{self.generation}-{self.newest}", event=event, data=data))
        del self.events[: max(0, len(self.events) - self.keep)]
        self._wake()

    def break_off(self, error: Exception) -> None:
        """Ends every open subscription with the error; later ones are served again once it is cleared."""
        self.broken = error
        self._wake()

    def _wake(self) -> None:
        self._moved.set()
        self._moved = asyncio.Event()

    async def subscribe(self, cursor: str) -> AsyncIterator[FrameBatch]:
        """D1.3: what is stored after the cursor, then what comes."""
        self.subscribed.append(cursor)
        self.open += 1
        try:
            if self.broken is not None:
                raise self.broken
            at, reset = self._begin(cursor)
            if reset:
                yield FrameBatch(frames=[Frame(event="reset", data=b'{"reason":"%b"}' % reset.encode())])
            told = False
            while True:
                waiter, newest = self._moved, self.newest
                ready = [frame for frame in self.events if int(frame.id.split("-")[1]) > at]
                for start in range(0, len(ready), 200):
                    yield FrameBatch(frames=ready[start : start + 200])
                at = newest
                if not told:
                    yield FrameBatch(position=f"{self.generation}-{at}")
                    told = True
                if waiter is self._moved:
                    await waiter.wait()
                if self.broken is not None:
                    raise self.broken
        finally:
            self.open -= 1

    def _begin(self, cursor: str) -> tuple[int, str]:
        oldest = self.newest - len(self.events) + 1
        generation, dash, n = cursor.partition("-")
        if not cursor:
            return 0, ""
        if not (dash and generation.isascii() and generation.isdigit() and n.isascii() and n.isdigit()):
            return 0, "malformed"
        if int(generation) != self.generation:
            return 0, "generation"
        if int(n) > self.newest:
            return 0, "ahead"
        return (int(n), "") if int(n) >= oldest - 1 else (0, "gap")


class FakeServices:
    """All services that the gateway speaks to, on one server."""

    def __init__(self, address: str, authenticator: Authenticator) -> None:
        self.script = Script()
        self.logs: dict[str, FakeLog] = {}
        servicers = [one for modules in MODULES.values() for module in modules for one in self._of(module)]
        self.server = GrpcServer("fake", address, servicers, authenticator)
        self.address = ""

    async def start(self) -> None:
        """Listens."""
        self.address = await self.server.start()

    async def stop(self) -> None:
        """Stops at once; the same address can be served again by another one."""
        await self.server.stop(0.05)

    def log(self, name: str, **options: int) -> FakeLog:
        """The log behind a stream: a resource name, or `tenant`."""
        return self.logs.setdefault(name, FakeLog(**options))

    def _of(self, module: ModuleType) -> list[tuple[Any, Any, str]]:
        grpc_module = __import__(f"{module.__name__}_grpc", fromlist=["_"])
        found = []
        for service in module.DESCRIPTOR.services_by_name.values():
            base = getattr(grpc_module, f"{service.name}Servicer")
            methods = {method.name: self._method(method) for method in service.methods}
            servicer = type(f"Fake{service.name}", (base,), methods)()
            add = getattr(grpc_module, f"add_{service.name}Servicer_to_server")
            found.append((add, servicer, service.full_name))
        return found

    def _method(self, method: MethodDescriptor) -> Any:
        async def unary(_: Any, request: Any, context: Any) -> Any:
            return await self.script.unary(method, request)

        async def stream(_: Any, request: Any, context: Any) -> AsyncIterator[Any]:
            self.script.note(method, request)
            refusal = self.script.answers.get(method.name)
            if isinstance(refusal, Exception):
                raise refusal
            if method.output_type.full_name != FrameBatch.DESCRIPTOR.full_name:
                async for message in self.script.messages(method, request):
                    yield message
                return
            log = self.logs.get(getattr(request, "name", "tenant"))
            if log is None:
                raise NotFound("SESSION_NOT_FOUND", "there is no such stream")
            async for batch in log.subscribe(request.last_event_id):
                yield batch

        return stream if method.server_streaming else unary
