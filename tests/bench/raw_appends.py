"""The raw limit of the session log: optimistic appends to JetStream with nats-py, one in flight a session, on a
stream that is configured as SESSIONS is."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import nats
from nats.aio.client import Client
from nats.js.api import RePublish, StorageType, StreamConfig

_STREAM = "BENCH"
_EXPECT = "Nats-Expected-Last-Subject-Sequence"


class RawAppends:
    """Over one connection."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._stream = client.jetstream(timeout=20)

    async def run(self, sessions: int, events: int, payload: bytes) -> float:
        """Appends `events` in all over so many subjects at once; answers events a second."""
        run = secrets.token_hex(4)
        begin = time.perf_counter()
        async with asyncio.TaskGroup() as group:
            for number in range(sessions):
                group.create_task(self._session(f"bench.{run}.{number}", events // sessions, payload))
        return (events // sessions) * sessions / (time.perf_counter() - begin)

    async def _session(self, subject: str, events: int, payload: bytes) -> None:
        last = 0
        for _ in range(events):
            answer = await self._stream.publish(subject, payload, headers={_EXPECT: str(last)})
            last = answer.seq


@asynccontextmanager
async def raw_appends(nats_url: str) -> AsyncIterator[RawAppends]:
    """A connection and the stream, both gone with the context."""
    client = await nats.connect(nats_url)
    try:
        stream = client.jetstream()
        await stream.add_stream(
            StreamConfig(
                name=_STREAM,
                subjects=["bench.>"],
                storage=StorageType.FILE,
                max_msgs_per_subject=5_000,
                allow_direct=True,
                republish=RePublish(src="bench.>", dest="live.bench.>"),
            )
        )
        yield RawAppends(client)
        await stream.delete_stream(_STREAM)
    finally:
        await client.close()
