"""A server stream that ends by itself, as SSE: one event a message, named after the member of its oneof.

Nothing is replayed and events have no ids: the call is the request's own, and is cancelled with it.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

import grpc
import orjson
from google.protobuf.message import Message

from gateway import problems
from gateway.clients import Stream
from gateway.http import REQUEST_ID, Disconnected, Receive, Scope, Send, answer_problem
from gateway.limits import Limits
from gateway.metrics import STREAMS_CLOSED, STREAMS_OPEN
from gateway.open_calls import OpenCalls
from gateway.sse.endpoint import HEADERS, PING
from gateway.transcode.http_rules import Route, RuleFault
from gateway.transcode.json_encode import encoder_of
from gateway.transcode.query import read_query
from gateway.transcode.router import path_fields
from services.kernel.errors import Unavailable
from services.kernel.frames import escape_line_ends
from services.kernel.principal import Principal

_HOLD_SECONDS: Final = 2.0
"""How long the headers wait for a first message, so that a refusal can still be a problem document."""


class MessagesEndpoint:
    """One route to one server-streaming RPC that is no feed. A refusal after the headers is an event `problem`."""

    def __init__(self, route: Route, call: Stream, limits: Limits, calls: OpenCalls, keepalive_seconds: float) -> None:
        if len(route.response.oneofs) != 1:
            raise RuleFault(f"{route.rpc}: the messages of a stream on REST need one oneof, which names the events")
        self._route = route
        self._call = call
        self._limits = limits
        self._calls = calls
        self._keepalive = keepalive_seconds

    async def serve(
        self, scope: Scope, receive: Receive, send: Send, segments: list[str], principal: Principal
    ) -> None:
        """Answers until the call ends, the client leaves (which cancels it), or the gateway stops."""
        reserved = {variable.field for variable in self._route.variables}
        message: Message = read_query(scope["query_string"], self._route.request, reserved)
        for field, value in path_fields(self._route, segments).items():
            setattr(message, field, value)
        with self._limits.stream(principal):
            answer = _Answer(scope, send, self._keepalive)
            writing = asyncio.create_task(self._calls.run(answer.write(self._call(message))))
            leaving = asyncio.create_task(_left(receive))
            STREAMS_OPEN.inc()
            try:
                await asyncio.wait({writing, leaving}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                STREAMS_OPEN.dec()
                writing.cancel()
                leaving.cancel()
                await asyncio.gather(writing, leaving, return_exceptions=True)
            STREAMS_CLOSED.labels(await answer.end(writing)).inc()


class _Answer:
    """What one request is sent."""

    def __init__(self, scope: Scope, send: Send, keepalive_seconds: float) -> None:
        self._scope = scope
        self._send = send
        self._keepalive = keepalive_seconds
        self._begun = False

    async def write(self, call: Any) -> str:
        """Passes on the messages as they come; answers why it ended."""
        messages = aiter(call)
        coming = asyncio.create_task(_next(messages))
        try:
            while True:
                await asyncio.wait({coming}, timeout=self._keepalive if self._begun else _HOLD_SECONDS)
                if not coming.done():
                    await self._say(PING)
                    continue
                if (message := coming.result()) is None:
                    await self._say(b"")
                    return "done"
                coming = asyncio.create_task(_next(messages))
                await self._say(_event(message))
        except grpc.aio.AioRpcError as error:
            await self._refuse(problems.of_rpc(error))
            return "source"
        finally:
            call.cancel()
            coming.cancel()
            await asyncio.gather(coming, return_exceptions=True)

    async def end(self, writing: asyncio.Task[str]) -> str:
        """The last bytes; answers why it ended. Raises what was refused before the answer began."""
        if writing.cancelled():
            if not self._begun:
                raise Disconnected
            return "client"
        fault = writing.exception()
        if isinstance(fault, Unavailable) and self._begun:
            await self._close(b": closed shutdown\n\n")
            return "shutdown"
        if fault is not None:
            raise fault
        if self._begun:
            await self._close(b"")
        return writing.result()

    async def _say(self, text: bytes) -> None:
        if not self._begun:
            self._begun = True
            await self._send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        if text:
            await self._send({"type": "http.response.body", "body": text, "more_body": True})

    async def _refuse(self, problem: problems.Problem) -> None:
        if self._begun:
            await self._say(b"event: problem\ndata: %b\n\n" % escape_line_ends(problem.body(self._scope[REQUEST_ID])))
        else:
            await answer_problem(self._scope, self._send, problem)

    async def _close(self, text: bytes) -> None:
        await self._send({"type": "http.response.body", "body": text, "more_body": False})


def _event(message: Message) -> bytes:
    """The event of a message: its oneof's member. One that these protos do not know yet is left out."""
    name = message.WhichOneof(message.DESCRIPTOR.oneofs[0].name)
    if name is None:
        return b""
    data = orjson.dumps(encoder_of(message.DESCRIPTOR).to_dict(message)[name])
    return b"event: %b\ndata: %b\n\n" % (name.encode("ascii"), escape_line_ends(data))


async def _next(messages: Any) -> Message | None:
    return await anext(messages, None)


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
