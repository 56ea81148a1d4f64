"""Tools out of the method option `treadle.tool.v1.tool`. Refuses, at start-up, what it does not understand."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from google.protobuf.descriptor import Descriptor, FieldDescriptor, MethodDescriptor, ServiceDescriptor

from gateway.mcp.input_schema import input_schema
from gateway.transcode.fields import Kind, is_list, kind_of, rest_name
from gateway.transcode.http_rules import RuleFault
from treadle.tool.v1 import tool_pb2

_NAME: Final = re.compile(r"[a-z0-9_]{1,64}")
_NEVER_ARGUMENTS: Final = ("page_size", "etag", "open_at")
"""Fields that a model has no use for: how much it may get at once is ours to say; times past are for the console."""
_JOINED: Final = "text"


@dataclass(frozen=True, slots=True)
class ToolRpc:
    """One RPC behind a tool. `hidden` are the request's fields that are no arguments."""

    context: str
    rpc: str
    """Full method path, `/package.Service/Method`."""
    method: MethodDescriptor
    session_field: str
    hidden: frozenset[str]

    @property
    def request(self) -> Descriptor:
        """The request message."""
        return self.method.input_type

    @property
    def response(self) -> Descriptor:
        """The response message; of a stream, the message that is repeated."""
        return self.method.output_type

    @property
    def arguments(self) -> list[FieldDescriptor]:
        """The request's fields that are arguments."""
        return [field for field in self.request.fields if field.name not in self.hidden]


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool: a name, the words for the model, and the RPCs that answer it (most have one)."""

    name: str
    description: str
    read_only: bool
    rpcs: tuple[ToolRpc, ...]
    schema: dict[str, Any]

    @property
    def long(self) -> bool:
        """Whether a call may take minutes: it follows a stream to its end."""
        return any(rpc.method.server_streaming for rpc in self.rpcs)


def tools_of(services: Iterable[tuple[str, ServiceDescriptor]]) -> dict[str, Tool]:
    """The tools by name, in the order of the protos. Where several RPCs share a name the first one's words count."""
    found: dict[str, list[tuple[ToolRpc, tool_pb2.Tool]]] = {}
    for context, service in services:
        for method in service.methods:
            options = method.GetOptions()
            if options.HasExtension(tool_pb2.tool):
                option = options.Extensions[tool_pb2.tool]
                found.setdefault(option.name, []).append((_rpc(context, method, option), option))
    return {name: _tool(name, parts) for name, parts in found.items()}


def _rpc(context: str, method: MethodDescriptor, option: tool_pb2.Tool) -> ToolRpc:
    service = method.containing_service
    assert service is not None
    field = method.input_type.fields_by_name.get(option.session_field)
    if field is None or kind_of(field) is not Kind.STRING or is_list(field):
        raise RuleFault(f"{method.full_name}: session_field must name a string of the request")
    if method.client_streaming:
        raise RuleFault(f"{method.full_name}: a tool takes one request")
    return ToolRpc(
        context,
        f"/{service.full_name}/{method.name}",
        method,
        option.session_field,
        frozenset({option.session_field, *_NEVER_ARGUMENTS}),
    )


def _tool(name: str, parts: list[tuple[ToolRpc, tool_pb2.Tool]]) -> Tool:
    rpcs = tuple(rpc for rpc, _ in parts)
    first = parts[0][1]
    if not _NAME.fullmatch(name) or not first.description:
        raise RuleFault(f"{rpcs[0].rpc}: a tool needs a name of [a-z0-9_]{{1,64}} and a description")
    if len(rpcs) > 1 and not all(_gives_text(rpc) for rpc in rpcs):
        raise RuleFault(f"{name}: RPCs that share a tool must be unary and answer a string `{_JOINED}`")
    fields = {rest_name(field): field for rpc in rpcs for field in rpc.arguments}
    read_only = all(option.read_only for _, option in parts)
    return Tool(name, first.description, read_only, rpcs, input_schema(fields.values()))


def _gives_text(rpc: ToolRpc) -> bool:
    field = rpc.response.fields_by_name.get(_JOINED)
    return not rpc.method.server_streaming and field is not None and kind_of(field) is Kind.STRING
