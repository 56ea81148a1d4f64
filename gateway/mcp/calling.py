"""A tool call is one RPC or several: arguments in by REST's decoder, the answer out by REST's encoder."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final

import grpc
import orjson
from google.protobuf.message import Message

from gateway.clients import Clients, check_size
from gateway.mcp.tools import Tool, ToolRpc
from gateway.transcode.fields import rest_name
from gateway.transcode.json_decode import decoder_of
from gateway.transcode.json_encode import encoder_of
from gateway.transcode.json_read import Json, quoted
from services.kernel.errors import Denied, Invalid, Unavailable
from services.kernel.grpc_errors import refusal_from
from services.kernel.principal import Principal

_LONG_SECONDS: Final = 330.0
"""How long a stream is followed: the services' own limit is 300 s (design/coordination.md C.4)."""
_JOINED_SECONDS: Final = 5.0
"""How long one of several services may hold up the answer of the others."""
_AWAY: Final = frozenset(
    {
        *(grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.CANCELLED),
        grpc.StatusCode.UNIMPLEMENTED,  # an older service, which does not know the RPC yet
    }
)

Call = Callable[..., Any]


def session_of(principal: Principal) -> str:
    """The resource name of the session that the caller acts for; Denied unless it shows an agent's token."""
    if principal.kind != "agent":
        raise Denied(
            "AGENT_TOKEN_REQUIRED",
            "tools act for one session: get its token by POST /api/sessions/{id}/agent_token and send it as "
            "`Authorization: Bearer <token>`",
        )
    return f"sessions/{principal.subject}"


class ToolCalls:
    """Calls the RPCs behind tools."""

    def __init__(self, tools: Mapping[str, Tool], clients: Clients, deadline_seconds: float) -> None:
        self._deadline = deadline_seconds
        self._calls: dict[str, Call] = {
            rpc.rpc: clients.stream(rpc) if rpc.method.server_streaming else clients.unary(rpc)
            for tool in tools.values()
            for rpc in tool.rpcs
        }

    async def call(self, tool: Tool, arguments: dict[str, Json], session: str) -> bytes:
        """The answer, a JSON object. Refusals are raised: our own, or the service's as grpc.aio.AioRpcError."""
        known = {rest_name(field) for rpc in tool.rpcs for field in rpc.arguments}
        for name in arguments:
            if name not in known:
                raise Invalid("UNKNOWN_FIELD", f"unknown field {quoted(name)}", field=quoted(name))
        requests = [_request(rpc, arguments, session) for rpc in tool.rpcs]
        if len(tool.rpcs) == 1:
            [rpc], [request] = tool.rpcs, requests
            return encoder_of(rpc.response).encode(await self._one(rpc, request, self._deadline))
        seconds, pairs = min(_JOINED_SECONDS, self._deadline), zip(tool.rpcs, requests, strict=True)
        return _joined(await asyncio.gather(*(self._one(*pair, seconds) for pair in pairs), return_exceptions=True))

    async def _one(self, rpc: ToolRpc, request: Message, seconds: float) -> Any:
        """The response; of a stream, its last message, however long that takes."""
        call = self._calls[rpc.rpc]
        if not rpc.method.server_streaming:
            return await call(request, timeout=seconds)
        stream, last = call(request, timeout=_LONG_SECONDS), None
        try:
            async for message in stream:
                last = message
        finally:
            stream.cancel()
        if last is None:
            raise Unavailable("NO_ANSWER", "the service ended without an answer: try again")
        return last


def _request(rpc: ToolRpc, arguments: dict[str, Json], session: str) -> Message:
    own = {rest_name(field) for field in rpc.arguments}
    message = decoder_of(rpc.request).decode({name: value for name, value in arguments.items() if name in own})
    setattr(message, rpc.session_field, session)
    check_size(message)
    return message


def _joined(answers: list[Any]) -> bytes:
    """The texts of several services. One that is away is left out; when all are, that is the answer. Whatever else
    one of them says against it wins over what the others give."""
    faults = [answer for answer in answers if isinstance(answer, BaseException)]
    given = [answer for answer in answers if not isinstance(answer, BaseException)]
    against = [fault for fault in faults if not _is_away(fault)]
    if against or not given:
        raise (against or faults)[0]
    return orjson.dumps({"text": "\n\n".join(answer.text for answer in given if answer.text)})


def _is_away(fault: BaseException) -> bool:
    if not isinstance(fault, grpc.aio.AioRpcError):
        return False
    return fault.code() in _AWAY or isinstance(refusal_from(fault), Unavailable)
