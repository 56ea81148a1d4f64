"""Channels to the services, one a context, and the callables of their RPCs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import grpc
from google.protobuf import message_factory

from gateway.transcode.http_rules import Route
from services.kernel.grpc_client import open_channel

Unary = grpc.aio.UnaryUnaryMultiCallable[Any, Any]
Stream = grpc.aio.UnaryStreamMultiCallable[Any, Any]


class Clients:
    """Opens a channel for each context; nothing connects before the first call."""

    def __init__(self, targets: Mapping[str, str]) -> None:
        self.channels = {context: open_channel(target) for context, target in targets.items()}

    def unary(self, route: Route) -> Unary:
        """The callable of a unary RPC."""
        return self.channels[route.context].unary_unary(
            route.rpc,
            request_serializer=message_factory.GetMessageClass(route.request).SerializeToString,
            response_deserializer=message_factory.GetMessageClass(route.response).FromString,
        )

    def stream(self, route: Route) -> Stream:
        """The callable of a server-streaming RPC."""
        return self.channels[route.context].unary_stream(
            route.rpc,
            request_serializer=message_factory.GetMessageClass(route.request).SerializeToString,
            response_deserializer=message_factory.GetMessageClass(route.response).FromString,
        )

    async def close(self) -> None:
        """Closes all channels; calls under way are cancelled."""
        for channel in self.channels.values():
            await channel.close()
