"""Channels to other services: keep-alive, reconnection, and the caller's identity and request id sent along."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import grpc

from services.kernel import request
from services.kernel.grpc_server import MESSAGE_MOST

_OPTIONS: Final[list[tuple[str, Any]]] = [
    ("grpc.max_receive_message_length", MESSAGE_MOST),
    ("grpc.max_send_message_length", MESSAGE_MOST),
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.initial_reconnect_backoff_ms", 100),
    # How long one attempt to connect may take, whatever its name says: a busy machine needs more than a moment.
    ("grpc.min_reconnect_backoff_ms", 5_000),
    ("grpc.max_reconnect_backoff_ms", 2_000),
    ("grpc.use_local_subchannel_pool", 1),
]

Authorize = Callable[[], str | None]
"""Answers the `authorization` value to send, or None."""


def open_channel(target: str, authorize: Authorize | None = None) -> grpc.aio.Channel:
    """A channel to `host:port` or `unix:path`. Each call carries the request id of the call under way, and either
    what `authorize` answers or the caller's own authorization, which the service verifies again."""
    sender = _Identity(authorize)
    return grpc.aio.insecure_channel(
        target,
        options=_OPTIONS,
        interceptors=[_UnaryUnary(sender), _UnaryStream(sender), _StreamStream(sender)],
    )


class _Identity:
    def __init__(self, authorize: Authorize | None) -> None:
        self._authorize = authorize

    def stamp(self, details: grpc.aio.ClientCallDetails) -> grpc.aio.ClientCallDetails:
        """The call's details with request id and authorization added, unless the caller set them."""
        given: Any = details.metadata or ()
        metadata = grpc.aio.Metadata(*given)
        sent = {key for key, _ in given}
        context = request.current()
        if context is not None and request.REQUEST_ID_KEY not in sent:
            metadata.add(request.REQUEST_ID_KEY, context.request_id)
        authorization = self._authorize() if self._authorize else (context.authorization if context else None)
        if authorization and request.AUTHORIZATION_KEY not in sent:
            metadata.add(request.AUTHORIZATION_KEY, authorization)
        return details._replace(metadata=metadata)  # type: ignore[no-any-return,attr-defined]


class _UnaryUnary(grpc.aio.UnaryUnaryClientInterceptor):
    def __init__(self, identity: _Identity) -> None:
        self._identity = identity

    async def intercept_unary_unary(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
        return await continuation(self._identity.stamp(client_call_details), request)


class _UnaryStream(grpc.aio.UnaryStreamClientInterceptor):
    def __init__(self, identity: _Identity) -> None:
        self._identity = identity

    async def intercept_unary_stream(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
        return await continuation(self._identity.stamp(client_call_details), request)


class _StreamStream(grpc.aio.StreamStreamClientInterceptor):
    def __init__(self, identity: _Identity) -> None:
        self._identity = identity

    async def intercept_stream_stream(self, continuation: Any, client_call_details: Any, request_iterator: Any) -> Any:
        return await continuation(self._identity.stamp(client_call_details), request_iterator)
