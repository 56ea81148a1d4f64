"""B7: a decision over REST to its event on an open SSE stream, 20 decisions a second, in `treadle up` as a person runs
it: everything in one process. From the scheduled moment of the request to the event's arrival at the reader."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import orjson

from services.engines import engines
from tests.bench.arrivals import Arrivals
from tests.bench.databases import Databases
from tests.bench.event_stream import event_stream
from tests.bench.figures import AtMost, Figure, percentile
from tests.bench.http_connection import HttpPool, http_pool
from tests.bench.paced import paced
from tests.bench.population import description, title
from tests.bench.raw_facts import raw_facts
from tests.bench.recording import Replay, Steps, replay_on
from tests.bench.rejections import recorded_rejections
from tests.bench.workbench import Workbench
from tests.stack import running_stack

ROW = "B7"
ABOUT = "decision over REST to its event on an open SSE stream, 20 decisions/s"
_PACE = 20.0
_WARM = 10
_FIRST = 1
"""Decisions of a round whose events only show that the reader has come to the end of what was stored before."""
_PAGE = 200


async def measure(bench: Workbench) -> list[Figure]:
    """p50 and p99 of the round trip."""
    each = bench.load(120, 30) + _FIRST
    count = each * bench.rounds + _WARM
    async with AsyncExitStack() as stack:
        servers = await stack.enter_async_context(engines(bench.room(f"{ROW}-raw") / "engines"))
        transactions, url = await stack.enter_async_context(
            recorded_rejections(bench, ROW, Databases(servers), servers.nats_url, count)
        )
        replay = await stack.enter_async_context(replay_on(url, 4))
        running = await stack.enter_async_context(running_stack(bench.room(ROW)))
        address = running.url.removeprefix("http://")
        pool = await stack.enter_async_context(http_pool(address, 4))
        work = await _population(pool, count)
        await _decided(address, pool, work[:_WARM])
        await _replayed(servers.nats_url, replay, transactions[:_WARM])

        def part(number: int) -> slice:
            return slice(_WARM + number * each, _WARM + (number + 1) * each)

        values, raws = await bench.interleaved(
            ROW,
            lambda number: _decided(address, pool, work[part(number)]),
            lambda number: _replayed(servers.nats_url, replay, transactions[part(number)]),
        )
    return [_figure("p50", 0.5, 15, values, raws), _figure("p99", 0.99, 50, values, raws)]


def _figure(name: str, at: float, most: float, values: list[list[float]], raws: list[list[float]]) -> Figure:
    return Figure(
        ROW,
        f"decision to its event, {name} at {_PACE:g}/s",
        "ms",
        [percentile(samples, at) for samples in values],
        AtMost(most),
        [percentile(samples, at) for samples in raws],
        {"raw": "the same transaction, one append, its republished copy", "samples": values, "raw_samples": raws},
    )


async def _population(pool: HttpPool, count: int) -> list[tuple[str, bytes]]:
    """Threads that the runner has brought to `awaiting_confirmation`: their ids, and the body of a rejection."""
    turn = asyncio.Semaphore(4)

    async def create(number: int) -> None:
        async with turn:
            body = orjson.dumps({"title": title(number), "description": description()})
            await pool.request("POST", "/api/threads", body)

    await asyncio.gather(*map(create, range(count)))
    async with asyncio.timeout(300):
        while len(found := [one async for one in _inbox(pool)]) < count:
            await asyncio.sleep(0.1)
    return found


async def _inbox(pool: HttpPool) -> AsyncIterator[tuple[str, bytes]]:
    token = ""
    while True:
        answer = orjson.loads(await pool.request("GET", f"/api/inbox?page_size={_PAGE}&page_token={token}"))
        for card in answer.get("threads", []):
            if card["state"] == "awaiting_confirmation":
                action = card["actions"][0]
                cited = {name: action[name] for name in ("proposal_id", "proposal_digest")}
                yield card["id"], orjson.dumps({**cited, "feedback": "Not now."})
        token = answer.get("next_page_token", "")
        if not token:
            return


async def _decided(address: str, pool: HttpPool, work: list[tuple[str, bytes]]) -> list[float]:
    arrivals = Arrivals()

    def on_event(name: bytes, data: bytes, at: float) -> None:
        if name == b"thread":
            fact = orjson.loads(data)
            if fact.get("to") == "dismissed":
                arrivals.came(fact["thread_id"], at)

    async def reject(one: tuple[str, bytes], due: float) -> None:
        arrivals.expect(one[0], due)
        await pool.request("POST", f"/api/threads/{one[0]}/reject", one[1])

    async with event_stream(address, "/api/stream", on_event):
        await paced(_PACE, work[:_FIRST], reject)
        await arrivals.all_came()
        arrivals.milliseconds.clear()
        await paced(_PACE, work[_FIRST:], reject)
        await arrivals.all_came()
    return arrivals.milliseconds


async def _replayed(nats_url: str, replay: Replay, transactions: list[Steps]) -> list[float]:
    arrivals = Arrivals()
    async with raw_facts(nats_url, replay, arrivals) as facts:
        numbered = list(enumerate(transactions[_FIRST:]))
        await paced(_PACE, numbered, lambda one, due: facts.decide(one[0], one[1], due))
        await arrivals.all_came()
    return arrivals.milliseconds
