"""The real MCP client over HTTP, as an agent, a person or nobody, and raw JSON-RPC for what no client would send."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult

from services.kernel.clock import SystemClock
from services.kernel.principal import Authenticator, Principal

ERAS = ["legacy", "2026-07-28"]
"""With a handshake, and without."""


def agent_bearer(session: str, secret: str | None = None, tenant: str = "default") -> dict[str, str]:
    """The header of a session's agent."""
    agent = Principal(tenant, session, "agent", frozenset({"agent"}))
    return {"authorization": f"Bearer {Authenticator(secret, SystemClock()).mint(agent, timedelta(hours=1))}"}


@asynccontextmanager
async def mcp_client(
    url: str, headers: dict[str, str] | None = None, *, era: str = "legacy", seconds: float = 30
) -> AsyncIterator[Client]:
    """A connected client of `<url>/mcp`."""
    async with (
        httpx2.AsyncClient(headers=headers or {}, timeout=seconds) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http), mode=era, cache=None) as client,
    ):
        yield client


def refusal_in(result: CallToolResult) -> dict[str, Any]:
    """The error of a call that was refused."""
    assert result.is_error, result
    body = result.structured_content
    assert body["ok"] is False
    error: dict[str, Any] = body["error"]
    assert set(error) == {"code", "message", "retryable", "details"}
    return error
