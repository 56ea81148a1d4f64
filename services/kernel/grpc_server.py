"""A gRPC server with the house's edge, health and reflection, that drains before it stops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from services.kernel import telemetry
from services.kernel.interceptors import Edge
from services.kernel.principal import Authenticator

_log = telemetry.get_logger("grpc")
MESSAGE_MOST: Final = 4 * 1024 * 1024
"""Largest message in either direction, in bytes; services page or refuse before it (PUB23)."""
_OPTIONS: Final[Sequence[tuple[str, Any]]] = (
    ("grpc.max_receive_message_length", MESSAGE_MOST),
    ("grpc.max_send_message_length", MESSAGE_MOST),
    ("grpc.so_reuseport", 0),  # a second server on the same port is a fault to be told, not to be shared
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.min_ping_interval_without_data_ms", 5_000),
    ("grpc.http2.max_ping_strikes", 0),
)
Add = Callable[[Any, grpc.aio.Server], None]


class GrpcServer:
    """One listening server of a deployable. Health is NOT_SERVING until start() and from drain() on."""

    def __init__(
        self,
        name: str,
        listen: str,
        servicers: Sequence[tuple[Add, Any, str]],
        authenticator: Authenticator,
    ) -> None:
        """`servicers`: (generated add function, servicer, full service name)."""
        self._name = name
        self._listen = listen
        self._server = grpc.aio.server(interceptors=[Edge(f"{name}.treadle", authenticator)], options=list(_OPTIONS))
        self._health = health.aio.HealthServicer()
        self._services = [service for _, _, service in servicers]
        for add, servicer, _ in servicers:
            add(servicer, self._server)
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        reflection.enable_server_reflection(
            [*self._services, health.SERVICE_NAME, reflection.SERVICE_NAME], self._server
        )

    async def start(self) -> str:
        """Listens, turns SERVING, answers the bound address `host:port` (or the unix address as given)."""
        port = self._server.add_insecure_port(self._listen)
        await self._server.start()
        await self._set_health(health_pb2.HealthCheckResponse.SERVING)
        address = self._listen if self._listen.startswith("unix:") else f"{self._host()}:{port}"
        _log.info("grpc.listening", service=self._name, address=address)
        return address

    async def not_serving(self) -> None:
        """First step of a drain: balancers stop sending."""
        await self._set_health(health_pb2.HealthCheckResponse.NOT_SERVING)

    async def stop(self, grace: float) -> None:
        """Stops taking calls, waits `grace` seconds for those under way, then cancels them."""
        await self._server.stop(grace)

    async def _set_health(self, status: health_pb2.HealthCheckResponse.ServingStatus.ValueType) -> None:
        for service in ["", *self._services]:
            await self._health.set(service, status)

    def _host(self) -> str:
        return self._listen.rsplit(":", 1)[0]
