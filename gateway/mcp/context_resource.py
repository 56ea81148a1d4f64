"""The resource `treadle://context`: what was added to the user message of the session's newest turn."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Final

import grpc
from google.protobuf import message_factory
from google.protobuf.descriptor import MethodDescriptor
from mcp import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, Resource, TextResourceContents

from gateway import problems
from gateway.clients import Clients
from gateway.contexts import TOLD, services
from gateway.mcp.calling import session_of
from gateway.mcp.tools import ToolRpc
from services.kernel.errors import Refusal
from services.kernel.principal import Principal

URI: Final = "treadle://context"
RESOURCE: Final = Resource(
    uri=URI,
    name="context",
    title="Injected context",
    description="What Treadle added to the user message of your newest turn: standing instructions, roster, plan.",
    mime_type="text/markdown",
)
_NONE: Final = (grpc.StatusCode.NOT_FOUND, grpc.StatusCode.UNIMPLEMENTED)
"""Nothing was told, or the service is older than the question."""


class ContextResource:
    """Reads it for an agent's session."""

    def __init__(self, clients: Clients, deadline_seconds: float) -> None:
        self._parts = [_Part(clients, method, deadline_seconds) for method in TOLD]

    async def read(self, uri: str, principal: Principal) -> TextResourceContents:
        """The texts of the newest turn in which something was told; MCPError where there is none, or where a service
        cannot be asked, with the refusal's reason and data."""
        if uri != URI:
            raise MCPError(INVALID_PARAMS, "there is no such resource", {"uri": uri})
        try:
            session = session_of(principal)
            answers = await asyncio.gather(*(part.ask(session) for part in self._parts), return_exceptions=True)
            return TextResourceContents(uri=URI, mime_type="text/markdown", text=_newest(answers))
        except Refusal as refusal:
            raise _error(problems.of_refusal(refusal)) from None
        except grpc.aio.AioRpcError as error:
            raise _error(problems.of_rpc(error)) from None


class _Part:
    """What one service told."""

    def __init__(self, clients: Clients, method: MethodDescriptor, deadline_seconds: float) -> None:
        service = method.containing_service
        assert service is not None
        [context] = (name for name, known in services() if known is service)
        self._field = method.input_type.fields[0].name
        shown = frozenset({self._field})
        rpc = ToolRpc(context, f"/{service.full_name}/{method.name}", method, self._field, shown)
        self._call = clients.unary(rpc)
        self._request: Any = message_factory.GetMessageClass(method.input_type)
        self._deadline = deadline_seconds

    async def ask(self, session: str) -> Any:
        """In the newest turn that it knows of."""
        return await self._call(self._request(**{self._field: session}), timeout=self._deadline)


def _newest(answers: Sequence[Any]) -> str:
    faults = [answer for answer in answers if isinstance(answer, BaseException)]
    grave = [fault for fault in faults if not (isinstance(fault, grpc.aio.AioRpcError) and fault.code() in _NONE)]
    given = [answer for answer in answers if not isinstance(answer, BaseException)]
    if grave or not given:
        raise (grave or faults)[0]
    turn_id = max(given, key=lambda one: one.create_time.ToNanoseconds()).turn_id
    return "\n\n".join(one.text for one in given if one.text and one.turn_id == turn_id)


def _error(problem: problems.Problem) -> MCPError:
    code = INTERNAL_ERROR if problem.status >= 500 else INVALID_PARAMS
    data = {"code": problem.reason.lower(), "retryable": problem.status == 503, "details": problem.metadata}
    return MCPError(code, problem.detail, data)
