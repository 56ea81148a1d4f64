"""Tools out of descriptors: names, schemas that stand alone, and protos that the gateway refuses at start-up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jsonschema
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool
from google.protobuf.descriptor import ServiceDescriptor

from gateway.contexts import services
from gateway.mcp.tools import Tool, tools_of
from gateway.transcode.http_rules import RuleFault
from treadle.tool.v1 import tool_pb2

TOOLS = tools_of(services())
_STRING = descriptor_pb2.FieldDescriptorProto.TYPE_STRING
_MESSAGE = descriptor_pb2.FieldDescriptorProto.TYPE_MESSAGE


def test_the_tools_of_the_design_are_there() -> None:
    assert {"thread_spawn", "thread_status", "thread_collect", "thread_note", "thread_wait", "get_context"} <= set(
        TOOLS
    )
    assert {"set_objective", "add_todos", "toggle_todos", "edit_todos", "remove_todos", "get_plan"} <= set(TOOLS)
    assert {"turn_begin", "turn_end", "list_actions", "propose_action", "proposal_status"} <= set(TOOLS)


@pytest.mark.parametrize("tool", TOOLS.values(), ids=lambda tool: tool.name)
def test_a_schema_stands_alone_and_takes_nothing_else(tool: Tool) -> None:
    jsonschema.Draft202012Validator.check_schema(tool.schema)
    assert tool.description
    hidden = {name for rpc in tool.rpcs for name in (rpc.session_field, "page_size", "etag", "open_at")}
    assert not hidden & set(tool.schema["properties"])
    for part in _parts(tool.schema):
        assert "$ref" not in part
        assert part.get("type") != "object" or part.get("additionalProperties") is not None
        assert "\n" not in part.get("description", "")
        assert {"minimum", "maximum", "pattern", "readOnly"}.isdisjoint(part)
        assert "On REST" not in part.get("description", "")
    assert tool.schema["additionalProperties"] is False


def test_enums_are_words_and_nested_messages_are_in_their_place() -> None:
    wait = TOOLS["thread_wait"]
    assert wait.schema["properties"]["mode"]["enum"] == ["all", "any", "quorum"]
    assert (wait.long, wait.read_only) == (True, True)
    spawn = TOOLS["thread_spawn"]
    item = spawn.schema["properties"]["threads"]["items"]
    assert item["required"] == ["name", "brief"]
    assert item["additionalProperties"] is False
    assert spawn.schema["required"] == ["threads"]
    assert (spawn.long, spawn.read_only) == (False, False)
    assert "request_id" in spawn.schema["properties"]
    jsonschema.validate({"threads": [{"name": "a", "brief": "b", "timeout_seconds": 3}]}, spawn.schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"threads": [{"name": "a", "brief": "b", "color": "red"}]}, spawn.schema)


def test_one_tool_of_two_services_has_the_fields_of_both() -> None:
    context = TOOLS["get_context"]
    assert [rpc.context for rpc in context.rpcs] == ["coordination", "planning"]
    assert "turn_id" in context.schema["properties"]


Change = Callable[[tool_pb2.Tool, descriptor_pb2.MethodDescriptorProto], None]


def _tool(**fields: Any) -> Change:
    def change(tool: tool_pb2.Tool, _: descriptor_pb2.MethodDescriptorProto) -> None:
        for name, value in fields.items():
            setattr(tool, name, value)

    return change


def _client_stream(_: tool_pb2.Tool, method: descriptor_pb2.MethodDescriptorProto) -> None:
    method.client_streaming = True


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (_tool(name="Spawn"), "needs a name"),
        (_tool(name="x" * 65), "needs a name"),
        (_tool(description=""), "a description"),
        (_tool(session_field="nothing"), "session_field"),
        (_tool(session_field=""), "session_field"),
        (_tool(session_field="inner"), "session_field"),
        (_client_stream, "takes one request"),
        (_tool(), "contains itself"),
    ],
    ids=["capitals", "long name", "no words", "no such field", "no field", "a message", "client stream", "recursion"],
)
def test_what_cannot_be_a_tool_is_refused_at_start_up(change: Change, told: str) -> None:
    with pytest.raises(RuleFault, match=told):
        tools_of([("threads", _service(change))])


def test_services_that_share_a_tool_must_answer_text() -> None:
    def second(tool: tool_pb2.Tool, method: descriptor_pb2.MethodDescriptorProto) -> None:
        tool.session_field = "inner_text"
        method.output_type = ".bad.Request" if method.name == "Two" else method.output_type

    with pytest.raises(RuleFault, match="text"):
        tools_of([("threads", _service(second, methods=("One", "Two")))])


def _service(change: Change, methods: tuple[str, ...] = ("One",)) -> ServiceDescriptor:
    """A service whose request holds a message that contains itself, ."""
    file = descriptor_pb2.FileDescriptorProto(name="bad.proto", package="bad", syntax="proto3")
    request = file.message_type.add(name="Request")
    request.field.add(name="text", number=1, type=_MESSAGE, type_name=".bad.Answer", label=1)
    request.field.add(name="inner_text", number=2, type=_STRING, label=1)
    request.field.add(name="inner", number=3, type=_MESSAGE, type_name=".bad.Inner", label=1)
    inner = file.message_type.add(name="Inner")
    inner.field.add(name="inner", number=1, type=_MESSAGE, type_name=".bad.Inner", label=1)
    answer = file.message_type.add(name="Answer")
    answer.field.add(name="text", number=1, type=_STRING, label=1)
    service = file.service.add(name="Bad")
    for name in methods:
        method = service.method.add(name=name, input_type=".bad.Request", output_type=".bad.Answer")
        tool = method.options.Extensions[tool_pb2.tool]
        tool.name, tool.description, tool.session_field = "bad", "Does something.", "inner_text"
        change(tool, method)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    found: ServiceDescriptor = pool.FindServiceByName("bad.Bad")
    return found


def _parts(schema: Any) -> Iterator[dict[str, Any]]:
    """Every schema in a schema; the names of properties are no schemas."""
    if not isinstance(schema, dict):
        return
    yield schema
    for member in schema.get("properties", {}).values():
        yield from _parts(member)
    yield from _parts(schema.get("items"))
    yield from _parts(schema.get("additionalProperties"))
