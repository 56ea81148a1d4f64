"""`/healthz`: the process lives. `/readyz`: it takes requests, and every service behind it is SERVING."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
from starlette.requests import Request
from starlette.responses import JSONResponse

_SECONDS: Final = 2.0
_FRESH: Final = {"cache-control": "no-store"}


class Readiness:
    """Asks the services when it is asked. From the drain's first step on the answer is no."""

    def __init__(self, channels: Mapping[str, grpc.aio.Channel]) -> None:
        self._stubs = {context: health_pb2_grpc.HealthStub(channel) for context, channel in channels.items()}
        self._draining = False

    async def drain(self) -> None:
        """Balancers stop sending from here on."""
        self._draining = True

    async def healthz(self, _: Request) -> JSONResponse:
        """200 as long as the process answers."""
        return JSONResponse({"status": "ok"}, headers=_FRESH)

    async def readyz(self, _: Request) -> JSONResponse:
        """200, or 503 with the state of each service: serving, not_serving or unreachable."""
        states = dict(zip(self._stubs, await asyncio.gather(*map(self._state, self._stubs)), strict=True))
        ready = not self._draining and all(state == "serving" for state in states.values())
        status = "draining" if self._draining else "ok" if ready else "not_ready"
        return JSONResponse({"status": status, "services": states}, 200 if ready else 503, headers=_FRESH)

    async def _state(self, context: str) -> str:
        request = health_pb2.HealthCheckRequest()
        try:
            answer = await self._stubs[context].Check(request, timeout=_SECONDS, wait_for_ready=False)
        except grpc.aio.AioRpcError:
            return "unreachable"
        serving = answer.status == health_pb2.HealthCheckResponse.SERVING
        return "serving" if serving else "not_serving"
