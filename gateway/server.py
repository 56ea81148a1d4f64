"""The HTTP server: uvicorn inside our own loop, started and stopped by us (signals are the lifecycle's)."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Iterator
from typing import Final

import uvicorn

from gateway.http import App
from gateway.sse.connection import protocol

_BACKLOG: Final = 2048
_KEEP_ALIVE_SECONDS: Final = 75
"""Longer than balancers keep idle connections (60 s), so that it is never us who closes under a request."""


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leaves signals alone: streams must end before the server waits for its connections (PUB25)."""
        yield


class HttpServer:
    """One listening socket and what answers on it."""

    def __init__(self, app: App, host: str, port: int, *, head_seconds: float, drain_seconds: float) -> None:
        self._host = host
        self._port = port
        self._server = _Server(
            uvicorn.Config(
                app,
                http=protocol(head_seconds),
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_keep_alive=_KEEP_ALIVE_SECONDS,
                timeout_graceful_shutdown=max(1, int(drain_seconds)),
            )
        )
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> str:
        """Listens; answers `host:port` as bound. OSError when the address is taken."""
        family = socket.AF_INET6 if ":" in self._host else socket.AF_INET
        listener = socket.create_server((self._host, self._port), family=family, backlog=_BACKLOG)
        # Inherited by accepted connections. An answer is two writes (head and body): without it the second one waits
        # for the client's delayed acknowledgement, 40 ms (seen on asyncio's own loop).
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        port: int = listener.getsockname()[1]
        self._task = asyncio.create_task(self._server.serve(sockets=[listener]), name="gateway.http")
        while not self._server.started:
            if self._task.done():
                self._task.result()
            await asyncio.sleep(0.005)
        shown = f"[{self._host}]" if ":" in self._host else self._host
        return f"{shown}:{port}"

    async def stop(self) -> None:
        """Stops listening, waits for the requests under way, then returns."""
        self._server.should_exit = True
        if self._task is not None:
            await self._task
