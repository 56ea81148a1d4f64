"""Every public RPC is reachable over REST, and every route answers its refusals (design/gateway.md)."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Any

import jsonschema
import orjson
import pytest
from google.protobuf import message_factory
from schemathesis.specs.openapi import definitions

from gateway.contexts import MODULES, services
from gateway.openapi.document import document
from gateway.transcode.fields import kind_of
from gateway.transcode.http_rules import Route, routes_of
from gateway.transcode.json_encode import encoder_of
from services.kernel import errors
from tests.fakes.running_gateway import Gateway, gateways

ROUTES = routes_of(services())
UNARY = [route for route in ROUTES if not route.streaming]
FEEDS = [route for route in ROUTES if route.feed]
ENDING = [route for route in ROUTES if route.streaming and not route.feed]
NAMED = {route.rpc.rpartition("/")[2]: route for route in ROUTES}
REFUSALS: list[tuple[errors.Refusal, int]] = [
    (errors.Invalid("R", "m", field="x"), 400),
    (errors.Denied("R", "m"), 403),
    (errors.NotFound("R", "m"), 404),
    (errors.AlreadyExists("R", "m"), 409),
    (errors.NotAllowed("R", "m", state="done"), 409),
    (errors.Conflict("R", "m"), 409),
    (errors.TooLarge("R", "m"), 413),
    (errors.Exhausted("R", "m"), 429),
    (errors.Unavailable("R", "m"), 503),
    (errors.DeadlineExceeded("R", "m"), 504),
]


@pytest.fixture(scope="module")
async def gateway() -> AsyncIterator[Gateway]:
    """One gateway for all routes."""
    async with gateways() as start:
        yield await start(gateway_deadline_seconds=5)


@pytest.fixture(autouse=True)
def forget(gateway: Gateway) -> None:
    """Each test scripts its own answers."""
    gateway.script.forget()


def path_of(route: Route) -> str:
    """A path that the route serves."""
    return "/" + "/".join(segment if segment is not None else "id_1" for segment in route.segments)


async def call(gateway: Gateway, route: Route) -> Any:
    """Calls the route with an empty request."""
    return await gateway.http.request(route.verb, path_of(route))


def ident(route: Route) -> str:
    return f"{route.verb} {route.template}"


def test_public_rpcs_are_all_annotated_but_those_of_runners() -> None:
    without = {
        method.full_name
        for modules in MODULES.values()
        for module in modules
        for service in module.DESCRIPTOR.services_by_name.values()
        for method in service.methods
        if f"/{service.full_name}/{method.name}" not in {route.rpc for route in ROUTES}
    }
    assert without == set()


@pytest.mark.parametrize("route", UNARY, ids=ident)
async def test_every_unary_rpc_is_reachable_and_its_answer_is_whole(gateway: Gateway, route: Route) -> None:
    answer = filled(route.response)
    name = route.rpc.rpartition("/")[2]
    gateway.script.answers[name] = answer
    response = await call(gateway, route)
    assert response.status_code == 200, response.text
    assert response.json() == orjson.loads(encoder_of(route.response).encode(answer))
    [(asked, request)] = gateway.script.asked
    assert asked == name
    for variable in route.variables:
        assert getattr(request, variable.field).rpartition("/")[2] == "id_1"


@pytest.mark.parametrize(("refusal", "status"), REFUSALS, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("route", UNARY, ids=ident)
async def test_every_route_answers_its_refusals(
    gateway: Gateway, route: Route, refusal: errors.Refusal, status: int
) -> None:
    gateway.script.answers[route.rpc.rpartition("/")[2]] = refusal
    response = await call(gateway, route)
    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"
    assert response.json()["reason"] == "R"


@pytest.mark.parametrize("route", UNARY, ids=ident)
async def test_every_route_masks_bugs_and_refuses_what_it_does_not_know(gateway: Gateway, route: Route) -> None:
    gateway.script.answers[route.rpc.rpartition("/")[2]] = RuntimeError("ZX-SECRET-7")
    masked = await call(gateway, route)
    assert masked.status_code == 500
    assert "ZX-SECRET-7" not in masked.text
    if route.body:
        unknown = await gateway.http.request(route.verb, path_of(route), json={"unknown_field": 1})
    else:
        unknown = await gateway.http.request(route.verb, path_of(route), params={"unknown_field": 1})
    assert unknown.status_code == 400
    assert unknown.json()["metadata"]["field"] == "unknown_field"


@pytest.mark.parametrize("route", [*FEEDS, *ENDING], ids=ident)
async def test_every_stream_answers_its_refusals(gateway: Gateway, route: Route) -> None:
    for refusal in (errors.NotFound("R", "m"), errors.Denied("R", "m"), errors.Invalid("R", "m")):
        gateway.script.answers[route.method.name] = refusal
        response = await call(gateway, route)
        assert response.status_code in (400, 403, 404)
        assert response.json()["reason"] == "R"


@pytest.mark.parametrize("route", ENDING, ids=ident)
async def test_every_stream_that_ends_is_reachable_and_its_answer_is_whole(gateway: Gateway, route: Route) -> None:
    sent = []
    for field in route.response.oneofs[0].fields:
        message = message_factory.GetMessageClass(route.response)()
        getattr(message, field.name).CopyFrom(filled(field.message_type))
        sent.append(message)
    gateway.script.answers[route.method.name] = sent
    response = await call(gateway, route)
    assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
    *events, rest = response.text.split("\n\n")
    assert rest == ""
    for event, message in zip(events, sent, strict=True):
        name, data = event.split("\n")
        member = message.WhichOneof(route.response.oneofs[0].name)
        assert name == f"event: {member}"
        assert (
            orjson.loads(data.removeprefix("data: "))
            == orjson.loads(encoder_of(route.response).encode(message))[member]
        )


@pytest.mark.parametrize("route", FEEDS, ids=ident)
async def test_every_feed_is_reachable(gateway: Gateway, route: Route) -> None:
    name = "tenant" if not route.variables else path_of(route).removeprefix("/api/").removesuffix("/stream")
    gateway.services.log(name).append(b"{}", event="thread")
    async with gateway.http.stream("GET", path_of(route)) as response:
        assert response.status_code == 200
        async for line in response.aiter_lines():
            if line == "event: thread":
                break


def filled(message: Any, depth: int = 3) -> Any:
    """A message in which every field is set."""
    made = message_factory.GetMessageClass(message)()
    for field in message.fields:
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            getattr(made, field.name)["k"] = 1
        elif field.message_type is not None:
            if depth:
                value = filled(field.message_type, depth - 1)
                target = getattr(made, field.name)
                (target.append if field.is_repeated else target.CopyFrom)(value)
        else:
            value = scalar(field)
            if field.is_repeated:
                getattr(made, field.name).append(value)
            else:
                setattr(made, field.name, value)
    return made


def scalar(field: Any) -> Any:
    """A value that is not the default."""
    by_kind = {"STRING": "text", "BOOL": True, "INTEGER": 7, "NUMBER": 0.5, "BYTES": b"b", "JSON": b'{"k":[1]}'}
    return by_kind.get(kind_of(field).name, 1)


def test_the_document_is_valid_openapi_and_names_every_route() -> None:
    made = document(ROUTES)
    jsonschema.validators.validator_for(definitions.OPENAPI_31)(definitions.OPENAPI_31).validate(made)
    operations = {
        operation["operationId"]: operation for verbs in made["paths"].values() for operation in verbs.values()
    }
    assert len(operations) == len(ROUTES)
    for route in ROUTES:
        service = route.method.containing_service
        assert service is not None
        operation = operations[f"{service.name}_{route.method.name}"]
        assert operation["description"], route.rpc
        refused = {"400", "401", "403", "404", "409", "413", "415", "429", "500", "503", "504"}
        assert refused < set(operation["responses"])
        assert ("412" in operation["responses"]) == ("etag" in route.request.fields_by_name)
    references = set(re.findall(rb'"#/components/schemas/([^"]+)"', orjson.dumps(made)))
    assert {name.decode() for name in references} == set(made["components"]["schemas"])
    spawning = made["components"]["schemas"]["coordination.SpawnWorkersRequest"]["properties"]["request_id"]
    key = next(one for one in operations["CoordinationService_SpawnWorkers"]["parameters"] if one["in"] == "header")
    for text, taken in (("a:b.c_d-1", True), ("x" * 128, True), ("a b", False), ("a!", False), ("x" * 129, False)):
        assert bool(re.search(key["schema"]["pattern"], text)) is taken
        assert bool(re.search(spawning["pattern"], text)) is taken
    waiting = operations["CoordinationService_WaitWorkers"]
    assert set(waiting["responses"]["200"]["content"]["text/event-stream"]["x-events"]) == {"worker", "done"}
    assert "Last-Event-ID" not in {parameter["name"] for parameter in waiting["parameters"]}
    for feed, event in (
        ("SubscribeSession", "worker_result"),
        ("SubscribeWorkers", "worker"),
        ("SubscribeTenant", "plan"),
    ):
        content = operations[f"FeedService_{feed}"]["responses"]["200"]["content"]["text/event-stream"]
        assert content["x-events"][event]["$ref"].startswith("#/components/schemas/streaming.")
        assert content["x-events"]["reset"]["description"]


@pytest.mark.parametrize("route", UNARY, ids=ident)
def test_answers_fit_the_document(route: Route) -> None:
    made = document(ROUTES)
    schema = made["paths"][_document_path(made, route)][route.verb.lower()]["responses"]["200"]["content"]
    body = orjson.loads(encoder_of(route.response).encode(filled(route.response)))
    whole = {**schema["application/json"]["schema"], "components": made["components"]}
    jsonschema.Draft202012Validator(whole).validate(body)


def _document_path(made: dict[str, Any], route: Route) -> str:
    service = route.method.containing_service
    assert service is not None
    return next(
        path
        for path, verbs in made["paths"].items()
        for operation in verbs.values()
        if operation["operationId"] == f"{service.name}_{route.method.name}"
    )
