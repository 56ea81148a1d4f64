"""Routes out of `google.api.http` annotations. Refuses, at start-up, what it does not understand."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from google.api import annotations_pb2  # type: ignore[import-untyped]
from google.api.http_pb2 import HttpRule  # type: ignore[import-untyped]
from google.protobuf.descriptor import Descriptor, MethodDescriptor, ServiceDescriptor

_TEMPLATE: Final = re.compile(r"\{([a-z0-9_.]+)(?:=([^{}]+))?\}|([^{}]+)")
_LITERAL: Final = re.compile(r"[A-Za-z0-9._~-]+")
_VERBS: Final = ("get", "put", "post", "delete", "patch")
_FEED: Final = "treadle.streaming.v1.FrameBatch"


@dataclass(frozen=True, slots=True)
class Variable:
    """A path variable: the request field it fills, from segment `start` to `end` of the path."""

    field: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Route:
    """One annotated RPC on one path. `segments` holds literals, and None where any one segment fits."""

    context: str
    rpc: str
    """Full method path, `/package.Service/Method`."""
    verb: str
    template: str
    segments: tuple[str | None, ...]
    variables: tuple[Variable, ...]
    body: bool
    streaming: bool
    method: MethodDescriptor

    @property
    def request(self) -> Descriptor:
        """The request message."""
        return self.method.input_type

    @property
    def response(self) -> Descriptor:
        """The response message; of a stream, the message that is repeated."""
        return self.method.output_type

    @property
    def feed(self) -> bool:
        """Whether it is a stream of frames, which is followed for good and resumed by ids (gateway.sse.endpoint)."""
        return self.streaming and self.response.full_name == _FEED


class RuleFault(Exception):
    """An annotation that the gateway cannot serve: a fault of the protos, found at start-up."""


def routes_of(services: Iterable[tuple[str, ServiceDescriptor]]) -> list[Route]:
    """The routes of all annotated methods; methods without an annotation are not public."""
    return [route for context, service in services for method in service.methods for route in _routes(context, method)]


def _routes(context: str, method: MethodDescriptor) -> Iterator[Route]:
    options = method.GetOptions()
    if not options.HasExtension(annotations_pb2.http):
        return
    rule = options.Extensions[annotations_pb2.http]
    for binding in (rule, *rule.additional_bindings):
        yield _route(context, method, binding)


def _route(context: str, method: MethodDescriptor, rule: HttpRule) -> Route:
    verb = rule.WhichOneof("pattern")
    if verb not in _VERBS:
        raise RuleFault(f"{method.full_name}: unsupported pattern {verb}")
    if rule.body not in ("", "*") or rule.response_body:
        raise RuleFault(f'{method.full_name}: only body "*" and whole responses are supported')
    if method.client_streaming or (method.server_streaming and verb != "get"):
        raise RuleFault(f"{method.full_name}: only unary RPCs and server streams by GET have REST")
    template: str = getattr(rule, verb)
    segments, variables = parse_template(template)
    for variable in variables:
        if variable.field not in method.input_type.fields_by_name:
            raise RuleFault(f"{method.full_name}: {variable.field} is not a field of the request")
    assert method.containing_service is not None
    return Route(
        context=context,
        rpc=f"/{method.containing_service.full_name}/{method.name}",
        verb=verb.upper(),
        template=template,
        segments=segments,
        variables=variables,
        body=rule.body == "*",
        streaming=method.server_streaming,
        method=method,
    )


def parse_template(template: str) -> tuple[tuple[str | None, ...], tuple[Variable, ...]]:
    """Segments and variables of a path template such as `/api/{name=threads/*}/events`."""
    segments: list[str | None] = []
    variables: list[Variable] = []
    for field, pattern, literal in _TEMPLATE.findall(template):
        start = len(segments)
        for part in (pattern or "*" if field else literal).strip("/").split("/"):
            if part == "*" and field:
                segments.append(None)
            elif _LITERAL.fullmatch(part):
                segments.append(part)
            elif part:
                raise RuleFault(f"{template}: unsupported segment {part}")
        if field:
            variables.append(Variable(field, start, len(segments)))
    return tuple(segments), tuple(variables)
