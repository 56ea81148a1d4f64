"""`httpx-sse`, with the loop around it that its users write themselves: come back with the last id."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import httpx
from httpx_sse import aconnect_sse

from tests.clients.heard import Heard


@dataclass(frozen=True)
class HttpxClient:
    """Implements heard.Client."""

    url: str

    async def read(self, path: str, end: str) -> list[Heard]:
        """As heard.Client."""
        heard: list[Heard] = []
        pause = 0.02
        async with httpx.AsyncClient(base_url=self.url, timeout=30) as http:
            while True:
                headers = {"last-event-id": heard[-1].id} if heard else {}
                try:
                    async with aconnect_sse(http, "GET", path, headers=headers) as source:
                        source.response.raise_for_status()
                        async for one in source.aiter_sse():
                            pause = pause if one.retry is None else one.retry / 1000
                            if one.event == "message" and not one.data:
                                continue  # the `retry` line alone: nothing that an EventSource would dispatch
                            heard.append(Heard(one.id, one.event, one.data))
                            if end in one.data:
                                return heard
                except httpx.TransportError:
                    await asyncio.sleep(pause)
