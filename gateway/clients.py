"""Channels to the services, one a context, and the callables of their RPCs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import grpc
from google.protobuf import message_factory
from google.protobuf.descriptor import Descriptor

from services.kernel.grpc_client import open_channel

Unary = grpc.aio.UnaryUnaryMultiCallable[Any, Any]
Stream = grpc.aio.UnaryStreamMultiCallable[Any, Any]


class Rpc(Protocol):
    """What is called: a route's RPC, or a tool's."""

    @property
    def context(self) -> str:
        """The context that answers it."""
        ...

    @property
    def rpc(self) -> str:
        """Full method path, `/package.Service/Method`."""
        ...

    @property
    def request(self) -> Descriptor:
        """The request message."""
        ...

    @property
    def response(self) -> Descriptor:
        """The response message, or the one that a stream repeats."""
        ...


class Clients:
    """Opens a channel for each context; nothing connects before the first call."""

    def __init__(self, targets: Mapping[str, str]) -> None:
        self.channels = {context: open_channel(target) for context, target in targets.items()}

    def unary(self, rpc: Rpc) -> Unary:
        """The callable of a unary RPC."""
        return self.channels[rpc.context].unary_unary(
            rpc.rpc,
            request_serializer=message_factory.GetMessageClass(rpc.request).SerializeToString,
            response_deserializer=message_factory.GetMessageClass(rpc.response).FromString,
        )

    def stream(self, rpc: Rpc) -> Stream:
        """The callable of a server-streaming RPC."""
        return self.channels[rpc.context].unary_stream(
            rpc.rpc,
            request_serializer=message_factory.GetMessageClass(rpc.request).SerializeToString,
            response_deserializer=message_factory.GetMessageClass(rpc.response).FromString,
        )

    async def close(self) -> None:
        """Closes all channels; calls under way are cancelled."""
        for channel in self.channels.values():
            await channel.close()
