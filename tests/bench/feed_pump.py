"""The pump of the raw drain server: frames encoded as the gateway encodes them, on one connection."""

from __future__ import annotations

import asyncio

from services.kernel.frames import Frame, line_of_json, sse


class FeedPump:
    """One stream's events, numbered from 1."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self._n = 0

    async def send(self, texts: list[str]) -> None:
        """As fan_out.Pump."""
        frames = []
        for text in texts:
            self._n += 1
            frames.append(sse(Frame(f"1-{self._n}", "text_delta", line_of_json({"delta": text, "block": self._n % 2}))))
        self._writer.write(b"".join(frames))
        await self._writer.drain()
