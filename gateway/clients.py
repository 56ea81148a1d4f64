"""Channels to the services, one a context, and the callables of their RPCs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import grpc
from google.protobuf import message_factory
from google.protobuf.descriptor import Descriptor
from google.protobuf.message import Message

from services.kernel.errors import TooLarge
from services.kernel.grpc_client import open_channel
from services.kernel.grpc_server import MESSAGE_MOST

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


def check_size(request: Message) -> None:
    """Refuses (TooLarge) a request that is more than one gRPC message, before a service is asked."""
    if request.ByteSize() > MESSAGE_MOST:
        what = f"the request is larger than the {MESSAGE_MOST} bytes of one message: no field takes that much"
        raise TooLarge("REQUEST_TOO_LARGE", what, field="body", limit=MESSAGE_MOST)


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
