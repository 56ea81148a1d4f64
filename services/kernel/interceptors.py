"""The server's edge: principal, request context, deadline, errors, access log and metrics, for unary and streams."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from functools import cache
from typing import Any, Final

import grpc
from prometheus_client import Gauge, Histogram

from services.kernel import request, telemetry
from services.kernel.errors import DeadlineExceeded, Refusal
from services.kernel.grpc_errors import DETAILS_KEY, MASKED, code_of, to_status
from services.kernel.principal import Authenticator

_log = telemetry.get_logger("grpc")
_QUIET: Final = ("/grpc.health.v1.", "/grpc.reflection.")
"""Health probes and reflection need no principal and would drown the access log."""
_DEFAULT_DEADLINE: Final = 30.0
"""Seconds for a unary call whose caller set no deadline."""

Handler = Any
"""grpc.RpcMethodHandler; its stub is generic, the class is not."""


class Edge(grpc.aio.ServerInterceptor):
    """Everything that every call goes through. One instance a server; `domain` names its ErrorInfo."""

    def __init__(self, domain: str, authenticator: Authenticator) -> None:
        self._domain = domain
        self._authenticator = authenticator
        self._wrapped: dict[str, Handler] = {}

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Any]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Any:
        """Wraps each method's handler once."""
        method = handler_call_details.method
        known = self._wrapped.get(method)
        if known is not None:
            return known
        handler = await continuation(handler_call_details)
        if handler is None or method.startswith(_QUIET):
            return handler  # an unknown method answers UNIMPLEMENTED by itself
        wrapped = self._wrap(method, handler)
        self._wrapped[method] = wrapped
        return wrapped

    def _wrap(self, method: str, handler: Handler) -> Handler:
        codec = (handler.request_deserializer, handler.response_serializer)
        if handler.request_streaming and handler.response_streaming:
            return grpc.stream_stream_rpc_method_handler(self._stream(method, handler.stream_stream), *codec)
        if handler.response_streaming:
            return grpc.unary_stream_rpc_method_handler(self._stream(method, handler.unary_stream), *codec)
        if handler.request_streaming:
            return grpc.stream_unary_rpc_method_handler(self._unary(method, handler.stream_unary), *codec)
        return grpc.unary_unary_rpc_method_handler(self._unary(method, handler.unary_unary), *codec)

    def _unary(self, method: str, behavior: Any) -> Any:
        async def call(message: Any, context: grpc.aio.ServicerContext[Any, Any]) -> Any:
            async with _Call(self, method, context) as under_way:
                under_way.identify()
                if context.time_remaining() is not None:
                    return await behavior(message, context)
                try:
                    async with asyncio.timeout(_DEFAULT_DEADLINE):
                        return await behavior(message, context)
                except TimeoutError:
                    raise DeadlineExceeded("DEADLINE_EXCEEDED", "the call took too long") from None

        return call

    def _stream(self, method: str, behavior: Any) -> Any:
        async def call(message: Any, context: grpc.aio.ServicerContext[Any, Any]) -> AsyncIterator[Any]:
            async with _Call(self, method, context) as under_way:
                under_way.identify()
                async with aclosing(behavior(message, context)) as answers:
                    async for answer in answers:
                        yield answer

        return call


@cache
def _open_gauge(service: str, method: str) -> Gauge:
    return telemetry.RPC_OPEN.labels(service, method)


@cache
def _seconds(service: str, method: str, code: str) -> Histogram:
    return telemetry.RPC_SECONDS.labels(service, method, code)


class _Call:
    """One call from its first byte to its last: who, how long, how it ended."""

    def __init__(self, edge: Edge, method: str, context: grpc.aio.ServicerContext[Any, Any]) -> None:
        self._edge = edge
        self._context = context
        _, self._service, self._method = method.rsplit("/", 2)
        self._begin = time.perf_counter()
        self._open = _open_gauge(self._service, self._method)

    def identify(self) -> None:
        """Verifies the caller and makes the call the one under way."""
        metadata = dict(self._context.invocation_metadata() or ())
        authorization = metadata.get(request.AUTHORIZATION_KEY)
        given = metadata.get(request.REQUEST_ID_KEY)
        request.enter(
            request.RequestContext(
                request.canonical_request_id(given if isinstance(given, str) else None),
                self._edge._authenticator.authenticate(authorization if isinstance(authorization, str) else None),
                authorization if isinstance(authorization, str) else None,
            )
        )

    async def __aenter__(self) -> _Call:
        self._open.inc()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        code = "OK"
        try:
            if isinstance(error, Refusal):
                code = code_of(error).name
                await self._refuse(error)
            elif isinstance(error, grpc.aio.AbortError):
                code = "ABORT"
            elif isinstance(error, asyncio.CancelledError | GeneratorExit):
                code = "CANCELLED"
            elif error is not None:
                code = "INTERNAL"
                _log.error("rpc.failed", service=self._service, method=self._method, exc_info=error)
                await self._context.abort(grpc.StatusCode.INTERNAL, MASKED)
        finally:
            seconds = time.perf_counter() - self._begin
            self._open.dec()
            _seconds(self._service, self._method, code).observe(seconds)
            _log.debug("rpc", service=self._service, method=self._method, code=code, seconds=round(seconds, 6))

    async def _refuse(self, refusal: Refusal) -> None:
        status = to_status(refusal, self._edge._domain)
        _log.info(
            "rpc.refused",
            service=self._service,
            method=self._method,
            reason=refusal.reason,
            refusal=refusal.message,
            **{f"about_{key}": value for key, value in refusal.metadata.items()},
        )
        await self._context.abort(
            code_of(refusal), status.message, trailing_metadata=((DETAILS_KEY, status.SerializeToString()),)
        )
