"""The command `workers wait`: the wait stream, opened again while there is time, each end told once."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from typing import Any, Final

import httpx
import orjson
from httpx_sse import SSEError, aconnect_sse

from services.cli import output
from services.cli.client import Client, Json, failure, unreachable
from services.cli.exits import CommandFailed, Exit
from services.cli.finding import session_id
from services.cli.plain import plain
from services.cli.workers import status

_LONGEST: Final = 300
"""Seconds that the service waits at most in one call."""
_TIMEOUT: Final = httpx.Timeout(10.0, read=60.0)


async def wait(
    url: str | None, given: str, names: list[str], mode: str, n: int, timeout: float | None, as_json: bool
) -> Exit:
    """0 when the condition holds; 4 when it does not in time."""
    ends_at = None if timeout is None else time.monotonic() + timeout
    told: set[str] = set()
    async with Client(url) as client:
        session = await session_id(client, given)
        while True:
            left = _LONGEST if ends_at is None else ends_at - time.monotonic()
            seconds = max(1, min(_LONGEST, round(left)))
            query: list[tuple[str, Any]] = [("mode", mode), ("timeout_seconds", seconds)]
            query += [("names", name) for name in names] + ([("n", n)] if mode == "quorum" else [])
            done: Json | None = None
            async for name, data in _events(client, f"/api/sessions/{session}/workers/wait", query):
                if name == "done":
                    done = data
                elif data["id"] not in told:
                    told.add(data["id"])
                    _tell("worker", data, as_json)
            if done is None:
                raise CommandFailed(Exit.UNAVAILABLE, "the stream ended before the wait was over")
            if done["satisfied"]:
                _tell("done", done, as_json)
                return Exit.OK
            if ends_at is not None and time.monotonic() >= ends_at - 0.5:
                _tell("done", done, as_json)
                raise CommandFailed(
                    Exit.UNAVAILABLE, f"not within {timeout:g} s: {done['ended']} of {done['waited_for']} have ended"
                )


async def _events(client: Client, path: str, query: list[tuple[str, Any]]) -> AsyncIterator[tuple[str, Json]]:
    try:
        async with aconnect_sse(client.http, "GET", path, params=query, timeout=_TIMEOUT) as source:
            if source.response.status_code != 200:
                await source.response.aread()
                raise failure(source.response)
            async for sse in source.aiter_sse():
                if not sse.data:
                    continue
                data = orjson.loads(sse.data)
                if sse.event == "problem":
                    raise CommandFailed(Exit.REFUSED, str(data.get("detail") or data.get("title")), data)
                yield sse.event, data
    except (httpx.HTTPError, SSEError) as fault:
        raise unreachable(client.url, fault) from fault


def _tell(name: str, data: Json, as_json: bool) -> None:
    if as_json:
        output.json_line({"event": name, **data})
    elif name == "worker":
        output.console().print(plain(f"{data['name']} {status(data)}"))
    else:
        output.console().print(f"{data['ended']} of {data['waited_for']} have ended", style="dim")
