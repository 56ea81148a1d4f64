"""Who uses how much processor time while something runs: where to look first when a figure falls short."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from services.engines import Engines
from tests.bench import machine


class CpuBill:
    """Seconds of processor time by name, over all that was measured."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._done = 0

    @contextmanager
    def over(self, servers: Engines, done: int, **pids: int) -> Iterator[None]:
        """Bills named processes, the engines and this process for `done` pieces of work."""
        # Backends live as long as their connections: those that are there now do the work.
        groups: dict[str, list[int]] = {name: [pid] for name, pid in pids.items()}
        groups["load generator"] = [os.getpid()]
        groups |= {engine: machine.family(servers.pid(engine)) for engine in ("postgres", "nats")}
        before = _used(groups)
        yield
        for name, seconds in _used(groups).items():
            self.seconds[name] = self.seconds.get(name, 0.0) + seconds - before[name]
        self._done += done

    def milliseconds_each(self) -> dict[str, float]:
        """A piece of work's share of each."""
        return {name: round(seconds * 1000 / max(1, self._done), 3) for name, seconds in self.seconds.items()}


def _used(groups: Mapping[str, list[int]]) -> dict[str, float]:
    return {name: machine.cpu_seconds(pids) for name, pids in groups.items()}
