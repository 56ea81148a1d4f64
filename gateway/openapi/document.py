"""The document: every route with its parameters, bodies, answers and refusals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from gateway.contexts import events_of
from gateway.openapi.comments import comments
from gateway.openapi.problem_schema import PROBLEM, responses
from gateway.openapi.schemas import KEY_PATTERN, Schema, Schemas, behavior
from gateway.transcode.fields import Kind, is_list, kind_of, rest_name
from gateway.transcode.http_rules import Route

VERSION: Final = "v1"
_HEADERS: Final = {
    "request_id": {
        "name": "Idempotency-Key",
        "in": "header",
        "description": "The same key with the same body answers the stored answer (24 h at least).",
        "schema": {"type": "string", "pattern": KEY_PATTERN},
    },
    "etag": {
        "name": "If-Match",
        "in": "header",
        "description": "The etag that the decision is about; another current one is refused (412).",
        "schema": {"type": "string", "pattern": '^((W/)?"[!#-~]{1,256}"|[!#-~]{1,256})$'},
    },
}
_LAST_EVENT_ID: Final = {
    "name": "Last-Event-ID",
    "in": "header",
    "description": "The last id that the reader has. Wins over `last_event_id`.",
    "schema": {"type": "string"},
}


def document(routes: Iterable[Route]) -> dict[str, Any]:
    """OpenAPI 3.1 of all routes."""
    schemas = Schemas()
    paths: dict[str, dict[str, Any]] = {}
    tags: dict[str, str] = {}
    for route in routes:
        service = route.method.containing_service
        assert service is not None
        tags[service.name] = comments().get(service.full_name, "")
        paths.setdefault(_path(route), {})[route.verb.lower()] = _operation(route, service.name, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Treadle",
            "version": VERSION,
            "description": "Agent work that people supervise: threads, sessions and their streams. In requests a "
            "member that is null counts as left out. What is over a limit is refused and never cut: the problem names "
            "the field (`metadata.field`) and the limit.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "tags": [{"name": name, "description": text} for name, text in tags.items()],
        "paths": paths,
        "components": {
            "schemas": dict(sorted(schemas.components.items())) | {"Problem": PROBLEM},
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"},
                "cookie": {
                    "type": "apiKey",
                    "in": "cookie",
                    "name": "treadle",
                    "description": "For pages of this host: `POST /auth/session` with `{token}` sets it (over https as "
                    "`__Host-treadle`), GET tells whose it is, DELETE takes it away.",
                },
            },
        },
        "security": [{"bearer": []}, {"cookie": []}, {}],
    }


def _operation(route: Route, tag: str, schemas: Schemas) -> dict[str, Any]:
    text = comments().get(route.method.full_name, "")
    operation: dict[str, Any] = {
        "operationId": f"{tag}_{route.method.name}",
        "tags": [tag],
        "summary": text.partition(". ")[0].partition(".\n")[0].replace("\n", " ").rstrip("."),
        "description": text,
        "parameters": list(_parameters(route, schemas)),
        "responses": responses(_answer(route, schemas), conditional="etag" in route.request.fields_by_name),
    }
    if route.body:
        operation["requestBody"] = _body(route, schemas)
    return operation


def _body(route: Route, schemas: Schemas) -> dict[str, Any]:
    """The request without what the path carries; it may be left out where nothing in it is required."""
    left_out = frozenset(variable.field for variable in route.variables)
    fields = [field for field in route.request.fields if field.name not in left_out]
    return {
        "required": any("REQUIRED" in behavior(field) for field in fields),
        "content": {"application/json": {"schema": schemas.reference(route.request, left_out)}},
    }


def _answer(route: Route, schemas: Schemas) -> dict[str, Any]:
    if route.feed:
        text = "Server-Sent Events with ids, one line of JSON each (`x-events`); comments keep the connection alive."
        return _stream(text, events_of(route.method), schemas)
    if route.streaming:
        text = (
            "Server-Sent Events without ids, one line of JSON each (`x-events`); comments keep the connection alive. "
            "It ends by itself: an EventSource must be closed then, or it would ask again. What is refused after the "
            "stream has begun is an event `problem` with a problem document."
        )
        return _stream(text, route.response, schemas)
    answer: dict[str, Any] = {
        "description": comments().get(route.response.full_name) or "The answer.",
        "content": {"application/json": {"schema": schemas.reference(route.response)}},
    }
    if "etag" in route.response.fields_by_name:
        answer["headers"] = {"ETag": {"description": "The resource's etag.", "schema": {"type": "string"}}}
    return answer


def _stream(text: str, events: Descriptor, schemas: Schemas) -> dict[str, Any]:
    """A stream of the members of the message's oneof: the name of each event, and what its data is."""
    named = {event.name: schemas.field(event) for event in events.oneofs[0].fields}
    content = {"schema": {"type": "string"}, "x-events": named}
    return {"description": text, "content": {"text/event-stream": content}}


def _parameters(route: Route, schemas: Schemas) -> Iterator[dict[str, Any]]:
    filled = {variable.field for variable in route.variables}
    for name in _variables(route):
        yield {
            "name": name,
            "in": "path",
            "required": True,
            "description": f"The id in `{route.template}`.",
            "schema": {"type": "string", "pattern": "^[^/\\u0000-\\u001f\\u007f-\\u009f]+$"},
        }
    if not route.body:
        for field in route.request.fields:
            if field.name not in filled and _in_query(field):
                yield _query_parameter(field, schemas)
    yield from (header for field, header in _HEADERS.items() if field in route.request.fields_by_name)
    if route.feed:
        yield _LAST_EVENT_ID


def _query_parameter(field: FieldDescriptor, schemas: Schemas) -> dict[str, Any]:
    schema: Schema = schemas.field(field)
    parameter = {"name": rest_name(field), "in": "query", "description": schema.pop("description", "")}
    if is_list(field):
        parameter |= {"explode": True}
    return parameter | {"required": "REQUIRED" in behavior(field), "schema": schema}


def _in_query(field: FieldDescriptor) -> bool:
    return kind_of(field) not in (Kind.MESSAGE, Kind.MAP, Kind.JSON)


def _variables(route: Route) -> list[str]:
    """A name for each open segment: the singular of the collection before it (`threads/*` is `thread`)."""
    names: list[str] = []
    for at, segment in enumerate(route.segments):
        if segment is None:
            before = route.segments[at - 1] or ""
            names.append(before.removesuffix("s") if before != "api" else f"id{at}")
    return names


def _path(route: Route) -> str:
    names = iter(_variables(route))
    parts = [segment if segment is not None else "{" + next(names) + "}" for segment in route.segments]
    return "/" + "/".join(parts)
