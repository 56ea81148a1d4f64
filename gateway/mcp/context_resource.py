"""The resource `treadle://context`: what was injected into the session's newest turn."""

from __future__ import annotations

from typing import Any, Final

import grpc
from google.protobuf import message_factory
from mcp import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, Resource, TextResourceContents

from gateway import problems
from gateway.clients import Clients
from gateway.contexts import INJECTION
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
_FIELD: Final = "parent"


class ContextResource:
    """Reads it for an agent's session."""

    def __init__(self, clients: Clients, deadline_seconds: float) -> None:
        service = INJECTION.containing_service
        assert service is not None
        rpc = ToolRpc("coordination", f"/{service.full_name}/{INJECTION.name}", INJECTION, _FIELD, frozenset({_FIELD}))
        self._call = clients.unary(rpc)
        self._request: Any = message_factory.GetMessageClass(INJECTION.input_type)
        self._deadline = deadline_seconds

    async def read(self, uri: str, principal: Principal) -> TextResourceContents:
        """Its text; MCPError where there is none, with the refusal's reason and data."""
        if uri != URI:
            raise MCPError(INVALID_PARAMS, "there is no such resource", {"uri": uri})
        try:
            request = self._request(**{_FIELD: session_of(principal)})
            injection = await self._call(request, timeout=self._deadline)
        except Refusal as refusal:
            raise _error(problems.of_refusal(refusal)) from None
        except grpc.aio.AioRpcError as error:
            raise _error(problems.of_rpc(error)) from None
        return TextResourceContents(uri=URI, mime_type="text/markdown", text=injection.text)


def _error(problem: problems.Problem) -> MCPError:
    code = INTERNAL_ERROR if problem.status >= 500 else INVALID_PARAMS
    data = {"code": problem.reason.lower(), "retryable": problem.status == 503, "details": problem.metadata}
    return MCPError(code, problem.detail, data)
