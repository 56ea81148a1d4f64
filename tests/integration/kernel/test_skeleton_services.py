"""Coordination and planning run: health, reflection, a drain, and two replicas on one database."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from services.coordination.main import build as build_coordination
from services.coordination.settings import CoordinationSettings
from services.kernel.lifecycle import Bound, Lifecycle
from services.kernel.settings import load
from services.planning.main import build as build_planning
from services.planning.settings import PlanningSettings
from tests.conftest import MakeDatabase

SERVICES = [
    ("coordination", CoordinationSettings, build_coordination),
    ("planning", PlanningSettings, build_planning),
]


@pytest.mark.parametrize(("name", "kind", "build"), SERVICES, ids=[name for name, _, _ in SERVICES])
async def test_two_replicas_serve_and_drain(
    name: str,
    kind: type[Any],
    build: Callable[[Any, Lifecycle], Awaitable[Bound]],
    make_database: MakeDatabase,
    nats_url: str,
) -> None:
    settings = load(
        kind,
        listen="127.0.0.1:0",
        nats_url=nats_url,
        drain_seconds=2,
        **{f"{name}_database_url": await make_database(name)},
    )
    async with asyncio.timeout(30), Lifecycle(name, 2) as life, Lifecycle(name, 2) as other:
        for address in ((await build(settings, life)).address, (await build(settings, other)).address):
            async with grpc.aio.insecure_channel(address) as channel:
                answer = await health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest())
                assert answer.status == health_pb2.HealthCheckResponse.SERVING
                assert "grpc.health.v1.Health" in await _reflected(channel)


async def _reflected(channel: grpc.aio.Channel) -> list[str]:
    call = reflection_pb2_grpc.ServerReflectionStub(channel).ServerReflectionInfo(
        iter([reflection_pb2.ServerReflectionRequest(list_services="")])
    )
    return [service.name async for answer in call for service in answer.list_services_response.service]
