"""32 workers of one coordinator on a running Treadle, spawned in one call to all collected; and the same work without
coordination: 32 sessions opened, prompted and read."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.ports import free_port
from tests.stack import Stack

WORKERS = 32
_BRIEF = "Look at the calendar of next week."
_SECONDS = 60.0


class NotDone(Exception):
    """A worker or a session did not end well."""


class FanOut:
    """One Treadle, the scripted agent without a pause between its words."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client

    async def workers(self) -> float:
        """Seconds from the spawn's call to the last result."""
        session = await self._session("external")
        await self._ask("/api/coordination/flag", session_id=session, enabled=True)
        await self._ask(f"/api/sessions/{session}/turn_begin", text="Compare")
        threads = [{"name": f"w{number}", "brief": _BRIEF} for number in range(WORKERS)]
        begin = time.perf_counter()
        spawned = await self._ask(f"/api/sessions/{session}/workers", threads=threads)
        if not all(one["ok"] for one in spawned["threads"]):
            raise NotDone(str(spawned))
        waited = await self._client.get(f"/api/sessions/{session}/workers/wait", params={"timeout_seconds": 60})
        if '"satisfied":true' not in waited.text:
            raise NotDone(waited.text[-500:])
        results = await asyncio.gather(
            *(self._ask(f"/api/sessions/{session}/workers/{one['name']}/collect") for one in threads)
        )
        seconds = time.perf_counter() - begin
        if not all(one["collected"] and one["reason"] == "completed" for one in results):
            raise NotDone(str([one["reason"] for one in results]))
        await self._ask(f"/api/sessions/{session}/turn_end", text="Done")
        return seconds

    async def sessions(self) -> float:
        """Seconds from the first session's call to the last text."""
        begin = time.perf_counter()
        await asyncio.gather(*(self._one_session() for _ in range(WORKERS)))
        return time.perf_counter() - begin

    async def _one_session(self) -> None:
        session = await self._session("scripted")
        await self._ask(f"/api/sessions/{session}/prompt", text=_BRIEF)
        async with self._client.stream("GET", f"/api/sessions/{session}/stream") as stream:
            async for line in stream.aiter_lines():
                if line.startswith("data:") and '"outcome":"ok"' in line:
                    break
        messages = (await self._client.get(f"/api/sessions/{session}/messages")).json()["messages"]
        if not messages[-1]["text"].endswith(_BRIEF):
            raise NotDone(str(messages))

    async def _session(self, adapter: str) -> str:
        return str((await self._ask("/api/sessions", adapter=adapter))["id"])

    async def _ask(self, path: str, **body: Any) -> dict[str, Any]:
        answer = await self._client.post(path, json=body)
        if answer.status_code != 200:
            raise NotDone(f"{path}: {answer.status_code} {answer.text}")
        found: dict[str, Any] = answer.json()
        return found


@asynccontextmanager
async def fan_out(folder: Path) -> AsyncIterator[FanOut]:
    """`treadle up`, from ready to stopped."""
    stack = Stack(folder / "home", free_port(), {"TREADLE_SCRIPTED_PACE_MS": "0"})
    await stack.start()
    limits = httpx.Limits(max_connections=2 * WORKERS)
    try:
        async with httpx.AsyncClient(base_url=stack.url, timeout=_SECONDS, limits=limits) as client:
            yield FanOut(client)
    finally:
        await stack.stop()
