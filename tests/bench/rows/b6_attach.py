"""B6: agent events accepted through Attach into the log, against optimistic appends with nothing around them.

Events that cannot be joined, so that each is one entry of the log (checked at the end of a round). What a model's
stream looks like, deltas of one block that the service joins while an append is under way, is measured too, without
a target.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass

import grpc

from services.engines import engines
from services.kernel.bus import Bus
from services.kernel.frames import line_of_json
from services.kernel.streams import SESSIONS, state_of
from tests.bench.attach_pump import attached, new_session
from tests.bench.databases import Databases
from tests.bench.deployables import site
from tests.bench.figures import Figure, RatioAtLeast
from tests.bench.raw_appends import RawAppends, raw_appends
from tests.bench.workbench import Workbench

ROW = "B6"
ABOUT = "agent events accepted through Attach (batched) into the log"
_TEXT = "a piece of an answer, about as long as a model says it at a time"
_PAYLOAD = line_of_json({"delta": _TEXT, "block": 1})
_WINDOW = 512
"""Events of one session that may be on their way."""


class NotOneEntryEach(Exception):
    """The log has not as many entries as events were accepted."""


@dataclass(frozen=True, slots=True)
class _Load:
    sessions: int
    events: int
    least: float


async def measure(bench: Workbench) -> list[Figure]:
    """Events a second, 1 and 50 sessions."""
    loads = [_Load(1, bench.load(5_000, 1_000), 0.7), _Load(50, bench.load(50_000, 5_000), 0.6)]
    room = bench.room(ROW)
    figures = []
    async with AsyncExitStack() as stack:
        servers = await stack.enter_async_context(engines(room / "engines"))
        place = await stack.enter_async_context(site(room, servers.nats_url, bench.profile))
        url = await Databases(servers).migrated("streaming")
        streaming = await place.service("streaming", url, TREADLE_PLANNING_TARGET="none")
        channel = await stack.enter_async_context(grpc.aio.insecure_channel(streaming.address))
        bus = await Bus.connect(servers.nats_url, "bench")
        stack.push_async_callback(bus.close)
        raw = await stack.enter_async_context(raw_appends(servers.nats_url))
        await _accepted(channel, bus, 5, 500)
        await raw.run(5, 500, _PAYLOAD)
        for load in loads:
            figures.append(await _figure(bench, load, channel, bus, raw))
    return figures


async def _figure(bench: Workbench, load: _Load, channel: grpc.aio.Channel, bus: Bus, raw: RawAppends) -> Figure:
    values, raws = await bench.interleaved(
        f"{ROW} {load.sessions} sessions",
        lambda _: _accepted(channel, bus, load.sessions, load.events),
        lambda _: raw.run(load.sessions, load.events, _PAYLOAD),
    )
    return Figure(
        ROW,
        f"events/s accepted, {load.sessions} session{'s' * (load.sessions > 1)}",
        "/s",
        values,
        RatioAtLeast(load.least),
        raws,
        {"raw": "nats-py, one append in flight a session", "events": load.events, "payload_bytes": len(_PAYLOAD)},
    )


async def _accepted(channel: grpc.aio.Channel, bus: Bus, sessions: int, events: int) -> float:
    each = events // sessions
    async with AsyncExitStack() as stack:
        names = [await new_session(channel) for _ in range(sessions)]
        pumps = [await stack.enter_async_context(attached(channel, name)) for name in names]
        before = await _entries(bus)
        begin = time.perf_counter()
        await asyncio.gather(*(pump.stream(each, _TEXT, _WINDOW) for pump in pumps))
        seconds = time.perf_counter() - begin
        stored = await _entries(bus) - before
    if stored != each * sessions:
        raise NotOneEntryEach(f"{stored} entries of {each * sessions} events")
    return each * sessions / seconds


async def _entries(bus: Bus) -> int:
    """The newest sequence of the log: it counts what was ever appended."""
    state = await state_of(bus, SESSIONS)
    return 0 if state is None else state.last_seq
