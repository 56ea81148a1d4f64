"""B9: `treadle up` on a folder that exists, to ready; and what the whole holds in memory, after a matter of work went
through it. Memory is PSS over the process and all its children (Postgres' and NATS' among them)."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

import orjson

from tests.bench import machine
from tests.bench.figures import AtMost, Figure
from tests.bench.helper_process import helper_process
from tests.bench.http_connection import HttpPool, http_pool
from tests.bench.population import description, title
from tests.bench.workbench import Workbench
from tests.ports import free_port
from tests.stack import Stack

ROW = "B9"
ABOUT = "`treadle up` to ready, warm; memory of the whole"
_MATTERS = 5


@dataclass(frozen=True, slots=True)
class _Started:
    seconds: float
    memory_mb: float
    processes: int


async def measure(bench: Workbench) -> list[Figure]:
    """Seconds and megabytes."""
    room = bench.room(ROW)
    stack = Stack(room / "home", free_port())
    await _up(stack)  # cold: makes the folder
    await _alone(room / "alone")
    values, raws = await bench.interleaved(ROW, lambda _: _up(stack), lambda _: _alone(room / "alone"))
    return [
        Figure(
            ROW,
            "treadle up to ready, warm",
            "s",
            [one.seconds for one in values],
            AtMost(5),
            [one.seconds for one in raws],
            {"raw": "Postgres and NATS alone"},
        ),
        Figure(
            ROW,
            "memory of the whole (PSS)",
            "MB",
            [one.memory_mb for one in values],
            AtMost(450),
            [one.memory_mb for one in raws],
            {"processes": [one.processes for one in values], "matters": _MATTERS},
        ),
    ]


async def _up(stack: Stack) -> _Started:
    begin = time.monotonic()
    await stack.start()
    seconds = time.monotonic() - begin
    try:
        async with http_pool(stack.url.removeprefix("http://"), 1) as pool:
            for number in range(_MATTERS):
                await _through(pool, number)
        pids = machine.family(stack.process.pid)
        return _Started(seconds, machine.pss_mb(pids), len(pids))
    finally:
        await stack.stop()


async def _through(pool: HttpPool, number: int) -> None:
    """One matter, until it waits for a person: everything has worked once."""
    body = orjson.dumps({"title": title(number), "description": description()})
    made = orjson.loads(await pool.request("POST", "/api/threads", body))
    async with asyncio.timeout(30):
        while orjson.loads(await pool.request("GET", f"/api/threads/{made['id']}"))["state"].startswith(
            ("awaiting_inference", "inferring")
        ):
            await asyncio.sleep(0.05)


async def _alone(home: object) -> _Started:
    begin = time.monotonic()
    async with helper_process("tests.bench.engines_alone", str(home)) as helper:
        await helper.said("ready")
        seconds = time.monotonic() - begin
        pids = machine.family(helper.pid)
        return _Started(seconds, machine.pss_mb(pids), len(pids))
