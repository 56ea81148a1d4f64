"""One stream to many readers, whatever feeds it: throughput with a window, latency at a pace, memory a reader."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Protocol

from tests.bench import machine
from tests.bench.helper_process import HelperProcess, helper_process
from tests.bench.paced import paced

_TEXT = " a piece of an answer, about as long as a model says it"


class Pump(Protocol):
    """Puts events on the stream."""

    async def send(self, texts: list[str]) -> None:
        """One event a text, in order, at most 64; waits only for the source's own back-pressure."""
        ...


@dataclass(frozen=True, slots=True)
class FanOutLoad:
    """`narrow`, `wide`: (events, window, batch) of the two throughput runs; the window is how far the pump may be
    ahead of the slowest reader, in events, and smaller than any reader's bound."""

    readers: int
    narrow: tuple[int, int, int]
    wide: tuple[int, int, int]
    paced_events: int
    paced_per_second: float


@dataclass(frozen=True, slots=True)
class FanOut:
    """One round. `latency` is the readers' own summary in milliseconds."""

    events_per_second: float
    wide_events_per_second: float
    latency: dict[str, float]
    kb_a_reader: float


class ReadersCut(Exception):
    """A reader was cut, or has not every event exactly once: what was measured is no fan-out."""


def stamped() -> str:
    """An event's text: the mark, the moment, and some words."""
    return f"@{time.monotonic_ns():019d}{_TEXT}"


async def fan_out(address: str, path: str, pid: int, pump: Pump, load: FanOutLoad, *, replays: bool) -> FanOut:
    """Measures a server that streams at `path`; `pid` is the process whose memory the readers take; `replays`: a new
    reader is given what was sent before it came."""
    host, _, port = address.rpartition(":")
    async with helper_process("tests.bench.sse_readers", host, port, path, "1") as first:
        await first.said("open")
        await pump.send([stamped()])
        await _all_have(first, 1)
    before = machine.rss_mb(pid)
    async with helper_process("tests.bench.sse_readers", host, port, path, str(load.readers)) as readers:
        await readers.said("open")
        await pump.send([stamped()])
        behind = 1 + replays
        await _all_have(readers, behind)
        narrow = await _windowed(readers, pump, load.readers, load.narrow, behind)
        behind += load.narrow[0]
        wide = await _windowed(readers, pump, load.readers, load.wide, behind)
        behind += load.wide[0]
        grown = machine.rss_mb(pid) - before
        await readers.ask("sample", "sampling")
        await _paced(readers, pump, load, behind)
        report = await _report(readers, behind + load.paced_events)
    return FanOut(narrow, wide, report, grown * 1024 / load.readers)


async def _windowed(readers: HelperProcess, pump: Pump, count: int, run: tuple[int, int, int], behind: int) -> float:
    """Events a second over all readers, the pump never more than the window ahead of the slowest."""
    events, window, batch = run
    begin = time.monotonic_ns()
    sent = 0
    while sent < events:
        await _all_have(readers, behind + sent + batch - window)
        await pump.send([stamped() for _ in range(min(batch, events - sent))])
        sent += batch
    await _all_have(readers, behind + events)
    end: int = readers.heard["at"]
    return events * count / ((end - begin) / 1e9)


async def _all_have(readers: HelperProcess, events: int) -> None:
    await readers.until(lambda heard: heard.get("least", 0) >= events)


async def _paced(readers: HelperProcess, pump: Pump, load: FanOutLoad, behind: int) -> None:
    async def send(_: int, due: float) -> None:
        await pump.send([stamped()])

    await paced(load.paced_per_second, range(load.paced_events), send)
    await _all_have(readers, behind + load.paced_events)


async def _report(readers: HelperProcess, expected: int) -> dict[str, float]:
    report: dict[str, Any] = await readers.ask("report", "report")
    heard = readers.heard
    if heard["closed"] or heard["counts"] != [expected, expected]:
        raise ReadersCut(f"{heard['closed']} readers closed, counts {heard['counts']}, expected {expected}")
    return {**report, "unreadable": heard["unreadable"]}
