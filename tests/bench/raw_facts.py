"""The raw limit from a decision to its event: one recorded transaction, one append to JetStream, and a core
subscription to its republished copy, with nothing in between."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import nats
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js.api import RePublish, StorageType, StreamConfig

from tests.bench.arrivals import Arrivals
from tests.bench.recording import Replay, Steps

_STREAM = "FACTS"


class RawFacts:
    """Decides, publishes, hears."""

    def __init__(self, client: Client, replay: Replay, arrivals: Arrivals) -> None:
        self._stream = client.jetstream()
        self._replay = replay
        self._arrivals = arrivals

    async def decide(self, number: int, steps: Steps, due: float) -> None:
        """One decision of the schedule."""
        key = str(number)
        self._arrivals.expect(key, due)
        await self._replay.run(steps)
        await self._stream.publish("facts.thread", key.encode().rjust(400))


@asynccontextmanager
async def raw_facts(nats_url: str, replay: Replay, arrivals: Arrivals) -> AsyncIterator[RawFacts]:
    """A stream and a subscription that end with the context."""
    client = await nats.connect(nats_url)

    async def heard(message: Msg) -> None:
        arrivals.came(message.data.strip().decode(), time.monotonic())

    try:
        stream = client.jetstream()
        await stream.add_stream(
            StreamConfig(
                name=_STREAM,
                subjects=["facts.>"],
                storage=StorageType.FILE,
                republish=RePublish(src="facts.>", dest="live.facts.>"),
            )
        )
        await client.subscribe("live.facts.>", cb=heard)
        await client.flush()
        yield RawFacts(client, replay, arrivals)
        await stream.delete_stream(_STREAM)
    finally:
        await client.close()
