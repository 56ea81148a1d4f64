"""A runner that loses nothing: it attaches again, anywhere, and sends what was not acknowledged."""

from __future__ import annotations

import asyncio
import random
from contextlib import suppress

import grpc

from tests.integration.streaming.client import Streaming, tool
from treadle.streaming.v1 import runner_service_pb2 as runners


class StubbornRunner:
    """Sends `total` tool events `c1`, `c2` … through whichever replica answers."""

    def __init__(self, replicas: list[Streaming], name: str, total: int, chance: random.Random) -> None:
        self.replicas = replicas
        self.name = name
        self.total = total
        self.acked = 0
        self.attaches = 0
        self.epoch = 0
        self._chance = chance

    async def run(self) -> None:
        """Until everything is acknowledged."""
        while self.acked < self.total:
            with suppress(grpc.aio.AioRpcError, TimeoutError, grpc.aio.UsageError, asyncio.InvalidStateError):
                await self._once()
            await asyncio.sleep(0.02)

    async def _once(self) -> None:
        replica = self._chance.choice(self.replicas)
        async with replica.attached(self.name, self.epoch) as runner:
            self.attaches += 1
            self.epoch = runner.epoch
            assert runner.acked >= self.acked, "what was acknowledged is stored"
            # Everything above the acknowledged number again, whatever was sent before.
            said = [tool(n, f"c{n}") for n in range(runner.acked + 1, self.total + 1)]
            sending = asyncio.create_task(self._send(runner.call, said))
            try:
                # Now and then it loses its call in the middle of everything.
                patience = self._chance.random() * 2 if self._chance.random() < 0.5 else 30
                await runner.stored(self.total, patience)
            finally:
                self.acked = max(self.acked, runner.acked)
                sending.cancel()
                with suppress(asyncio.CancelledError, grpc.aio.AioRpcError, asyncio.InvalidStateError):
                    await sending

    async def _send(self, call: object, said: list[runners.RunnerEvent]) -> None:
        for start in range(0, len(said), 64):
            batch = runners.EventBatch(events=said[start : start + 64])
            await call.write(runners.AttachRequest(batch=batch))  # type: ignore[attr-defined]
            await asyncio.sleep(self._chance.random() * 0.02)
