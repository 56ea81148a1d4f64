"""Chromium's EventSource, npm `eventsource` and `httpx-sse`, cut at random: every event once, in order (issue 4)."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Final

import grpc
import httpx
import orjson
import pytest

from tests.bench.attach_pump import AttachPump, attached, new_session
from tests.clients.conftest import Cut, House
from tests.clients.heard import NAMES, Heard
from tests.clients.httpx_client import HttpxClient

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("clients"), pytest.mark.timeout(240)]

_END: Final = "that-was-all"
_DELETED: Final = '"kind":"deleted"'
_HARD: Final = (
    "a\nevent: x\nid: 999",
    "\n\ndata: two\n\nid: 1-1\nretry: 1\n\n",
    "\r",
    "\r\n\r\n: no comment\r\n",
    "line\u2028paragraph\u2029next\u0085tab\v\f",
    "\U0001f469\u200d\U0001f4bb e\u0301 \ufeff \u202e",
    "日本語 " * 300,
    "",
    " ",
    '"\\u0000" \\n </script>',
    "plain",
)
_ROUNDS: Final = 200
_MADE: Final = 240
_LEAST_CUTS: Final = 5
_SECONDS: Final = 90


def _read_by_all(clients: dict[str, Cut], path: str, end: str) -> asyncio.Future[list[list[Heard]]]:
    """All three read at once; the answer comes once each has heard the end."""
    return asyncio.gather(*(one.client.read(path, end) for one in clients.values()))


def _agree(clients: dict[str, Cut], heard: list[list[Heard]], truth: list[Heard]) -> None:
    """Each heard exactly what a reader hears that nobody cuts; and each was cut."""
    for (name, one), events in zip(clients.items(), heard, strict=True):
        assert one.proxy.cuts >= _LEAST_CUTS, f"{name} was cut {one.proxy.cuts} times"
        differs = next((pair for pair in zip(events, truth, strict=False) if pair[0] != pair[1]), None)
        assert differs is None, f"{name} after {one.proxy.cuts} cuts: {differs}"
        assert len(events) == len(truth), f"{name} after {one.proxy.cuts} cuts"
    assert {one.event for one in truth} <= set(NAMES)


async def test_a_session_cut_at_random_is_heard_once_and_in_order(house: House, clients: dict[str, Cut]) -> None:
    """2,200 events, half of them while they are made; text that is shaped like the protocol stays text."""
    async with grpc.aio.insecure_channel(house.streaming.address) as channel, asyncio.timeout(_SECONDS):
        session = await new_session(channel)
        path = f"/api/{session}/stream"
        async with attached(channel, session) as pump:
            await _say(pump, _ROUNDS // 2)
            reading = _read_by_all(clients, path, _END)
            await _say(pump, _ROUNDS // 2)
            await pump.send([_END])
            heard = await reading
    truth = await HttpxClient(house.url).read(path, _END)
    _agree(clients, heard, truth)
    deltas = [orjson.loads(one.data)["delta"] for one in truth if one.event == "text_delta"]
    assert deltas == [*_HARD * _ROUNDS, _END]
    assert [one.id for one in truth] == [f"1-{number}" for number in range(1, len(truth) + 1)]


async def _say(pump: AttachPump, rounds: int) -> None:
    """The hard texts so many times, at a model's pace, so that readers are really live."""
    for _ in range(rounds):
        await pump.send(list(_HARD))
        await asyncio.sleep(0.01)


async def test_the_tenants_feed_cut_at_random_is_heard_once_and_in_order(house: House, clients: dict[str, Cut]) -> None:
    """Hundreds of threads and sessions, half of them made while it is read."""
    path, whole = "/api/stream", HttpxClient(house.url)
    async with httpx.AsyncClient(base_url=house.url, timeout=30) as http, asyncio.timeout(_SECONDS):
        made = await _make(http, _MADE // 2)
        reading = _read_by_all(clients, path, _DELETED)
        made |= await _make(http, _MADE // 2)
        missing = set(made)
        while missing:
            missing -= _subjects(await whole.read(path, next(iter(missing))))
        await _delete_one(http)
        heard = await reading
        truth = await whole.read(path, _DELETED)
    _agree(clients, heard, truth)
    assert made <= _subjects(truth)
    places = [int(one.id.partition("-")[2]) for one in truth]
    assert all(before < after for before, after in pairwise(places))
    told = [orjson.loads(one.data)["event_id"] for one in truth]
    assert len(set(told)) == len(told)


async def _make(http: httpx.AsyncClient, count: int) -> set[str]:
    """So many threads and as many sessions; their ids."""
    made = set()
    kinds = (("/api/threads", {"title": "A task"}), ("/api/sessions", {"adapter": "scripted"}))
    for _ in range(count):
        for answer in await asyncio.gather(*(http.post(path, json=body) for path, body in kinds)):
            answer.raise_for_status()
            made.add(str(answer.json()["id"]))
    return made


async def _delete_one(http: httpx.AsyncClient) -> None:
    """The only deletion there is: what it leaves in the feed ends the reading."""
    (session,) = [one for one in await _make(http, 1) if one.startswith("ses")]
    answer = await http.post("/api/sessions/batch_delete", json={"ids": [session]})
    answer.raise_for_status()


def _subjects(events: list[Heard]) -> set[str]:
    """The threads and sessions that they are about."""
    facts = [orjson.loads(one.data) for one in events]
    return {str(fact.get("thread_id") or fact.get("session_id")) for fact in facts}
