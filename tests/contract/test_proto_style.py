"""The protos' own rules beyond buf: requests, idempotency, field behaviour, annotations (design/style.md, Protos)."""

from __future__ import annotations

import importlib
import pkgutil
from collections import Counter
from collections.abc import Iterator

import pytest
from google.api import annotations_pb2, field_behavior_pb2
from google.protobuf.descriptor import FieldDescriptor, MethodDescriptor, ServiceDescriptor

import treadle.coordination.v1
import treadle.planning.v1
import treadle.streaming.v1
import treadle.threads.v1

PACKAGES = [treadle.threads.v1, treadle.streaming.v1, treadle.coordination.v1, treadle.planning.v1]
NO_REST = {
    "treadle.coordination.v1.JobService",
    "treadle.threads.v1.JobService",
    "treadle.streaming.v1.JobService",
    "treadle.streaming.v1.RunnerService",
    "treadle.streaming.v1.ForkService",
    "treadle.planning.v1.WorkspaceService",
}
"""For runners and for other services only: gRPC."""


def _services() -> Iterator[ServiceDescriptor]:
    for package in PACKAGES:
        for module in pkgutil.iter_modules(package.__path__):
            if module.name.endswith("_pb2"):
                loaded = importlib.import_module(f"{package.__name__}.{module.name}")
                yield from loaded.DESCRIPTOR.services_by_name.values()


METHODS = [method for service in _services() for method in service.methods]
by_name = pytest.mark.parametrize("method", METHODS, ids=lambda method: method.full_name)


def _is_mutation(method: MethodDescriptor) -> bool:
    reads = ("Get", "List", "Explain", "Subscribe", "Wait", "Preview", "Compose", "Diff", "Collect")
    return not method.name.startswith(reads)


@by_name
def test_every_public_rpc_has_a_route_and_every_internal_one_has_none(method: MethodDescriptor) -> None:
    annotated = method.GetOptions().HasExtension(annotations_pb2.http)
    assert annotated is (method.containing_service.full_name not in NO_REST)


@by_name
def test_the_request_is_the_rpcs_own_and_the_response_is_never_empty_of_meaning(method: MethodDescriptor) -> None:
    assert method.input_type.name == f"{method.name}Request"
    assert not method.output_type.full_name.startswith("google.protobuf.")


def test_no_request_message_serves_two_rpcs() -> None:
    counted = Counter(method.input_type.full_name for method in METHODS)
    assert [name for name, count in counted.items() if count > 1] == []


@by_name
def test_every_public_mutation_takes_a_request_id(method: MethodDescriptor) -> None:
    if method.containing_service.full_name in NO_REST or not _is_mutation(method):
        return
    assert "request_id" in method.input_type.fields_by_name


@by_name
def test_every_request_field_says_whether_it_is_required(method: MethodDescriptor) -> None:
    silent = [
        field.name
        for field in method.input_type.fields
        if field.containing_oneof is None or field.containing_oneof.name.startswith("_")
        if not _behaviours(field)
    ]
    assert silent == []


@by_name
def test_times_are_named_as_times(method: MethodDescriptor) -> None:
    for message in (method.input_type, method.output_type):
        for field in message.fields:
            if field.message_type is not None and field.message_type.full_name == "google.protobuf.Timestamp":
                named = field.name.endswith("_time") or field.name in ("resurface_at", "open_at", "latest_activity")
                assert named, f"{message.full_name}.{field.name}"


def _behaviours(field: FieldDescriptor) -> list[int]:
    return list(field.GetOptions().Extensions[field_behavior_pb2.field_behavior])
