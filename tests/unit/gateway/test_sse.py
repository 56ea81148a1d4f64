"""Streams as a browser sees them: framing, cursors, keep-alives and what is refused before the headers."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from urllib.parse import quote

import orjson
import pytest

from services.kernel.errors import NotFound, Unavailable
from services.kernel.frames import line_of_json
from tests.fakes.running_gateway import SECRET, Gateway, Start, bearer
from tests.unit.gateway.sse_client import Connection, naive, stream, strict

PATH = "/api/sessions/ses_1/stream"
NAME = "sessions/ses_1"
NASTY = [
    "a\nevent: x\nid: 999\nretry: 1\n\ndata: forged",
    "lone\rcarriage",
    "crlf\r\n",
    "trailing\n",
    "\u2028line\u2028",
    "\u2029paragraph",
    "\x85next",
    "vt\x0bff\x0c",
    "\x1c\x1d\x1e",
    "",
    ": no comment",
    "é😀",
    "x" * 1_000_000,
]


async def test_pub15_text_comes_back_as_it_was_in_a_strict_and_in_a_naive_reader(gateway: Gateway) -> None:
    log = gateway.services.log(NAME)
    async with stream(gateway.port, PATH) as live:
        for text in NASTY:
            log.append(line_of_json({"delta": text}))
        await live.until_events(len(NASTY))
    for parsed in (strict(live.body), naive(live.body)):
        assert [orjson.loads(event.data)["delta"] for event in parsed.events] == NASTY
        assert [event.id for event in parsed.events] == [f"1-{n}" for n in range(1, len(NASTY) + 1)]
        assert {event.name for event in parsed.events} == {"text_delta"}
        assert parsed.retries == ["1000"]


async def test_pub15_a_frame_that_would_break_the_framing_never_leaves(gateway: Gateway) -> None:
    log = gateway.services.log(NAME)
    log.append(b'{"a":1}')
    async with stream(gateway.port, PATH) as live:
        await live.until_events(1)
        log.append(b"{}\n\ndata: forged", event="turn")
        log.append(b"{}", event="x\nid: 9")
        log.append(b'{"a":2}')
        assert [event.id for event in await live.until_events(2)] == ["1-1", "1-4"]
    assert b"forged" not in live.body


async def test_a_ring_that_begins_at_its_first_readers_cursor_serves_older_readers_from_the_service(
    gateway: Gateway,
) -> None:
    log = gateway.services.log(NAME)
    log.append(b"{}", count=50)
    async with stream(gateway.port, PATH, {"last-event-id": "1-40"}) as first:
        assert (await _ids(first, 10))[0] == "1-41"
        assert log.subscribed == ["1-40"]
        for cursor, begins in (("1-10", 11), ("1-45", 46), ("1-40", 41), ("", 1)):
            async with stream(gateway.port, PATH, {"last-event-id": cursor}) as live:
                stored = log.newest
                await live.until_events(stored + 1 - begins)
                log.append(b"{}")
                assert await _ids(live, stored + 2 - begins) == [f"1-{n}" for n in range(begins, stored + 2)]


async def test_headers_of_a_stream(gateway: Gateway) -> None:
    gateway.services.log(NAME)
    async with stream(gateway.port, PATH) as live:
        assert live.status == 200
        assert live.headers["content-type"].startswith("text/event-stream")
        assert live.headers["cache-control"] == "no-store"
        assert live.headers["x-accel-buffering"] == "no"


async def test_keep_alives_are_comments_without_ids(start: Start) -> None:
    gateway = await start(sse_keepalive_seconds=0.05)
    log = gateway.services.log(NAME)
    log.append(b"{}")
    async with stream(gateway.port, PATH) as live:
        await live.until_text(b": keep-alive\n\n: keep-alive\n\n")
        log.append(b"{}")
        await live.until_events(2)
    assert [event.id for event in strict(live.body).events] == ["1-1", "1-2"]


async def test_unknown_streams_are_404_and_unreachable_ones_503_before_the_headers(start: Start) -> None:
    gateway = await start(gateway_deadline_seconds=0.3)
    response = await gateway.http.get("/api/sessions/ses_none/stream")
    assert response.status_code == 404
    assert response.json()["reason"] == "SESSION_NOT_FOUND"
    gateway.services.log("sessions/ses_none").append(b"{}")
    async with stream(gateway.port, "/api/sessions/ses_none/stream") as live:
        await live.until_events(1)  # what was refused is not remembered
    gateway.script.answers["SubscribeSession"] = Unavailable("LOG_UNAVAILABLE", "not now")
    response = await gateway.http.get(PATH)
    assert response.status_code == 503
    assert (await gateway.http.head(PATH)).status_code == 405
    assert (await gateway.http.get(f"{PATH}?cursor=1")).status_code == 400


async def _ids(live: Connection, count: int) -> list[str]:
    return [event.id for event in await live.until_events(count)]


@pytest.mark.parametrize(
    ("cursor", "reset", "first"),
    [
        (None, None, 21),
        ("", None, 21),
        ("2-25", None, 26),
        ("2-40", None, 41),
        ("2-20", None, 21),
        ("2-3", "gap", 21),
        ("2-41", "ahead", 21),
        ("1-9999", "generation", 21),
        ("abc", "malformed", 21),
        ("-1", "malformed", 21),
        ("2- 5", "malformed", 21),
        ("+5", "malformed", 21),
        ("1_0", "malformed", 21),
        ("٣", "malformed", 21),
        ("5.0", "malformed", 21),
        ("9" * 20, "malformed", 21),
        ("9" * 5000, "malformed", 21),
    ],
)
@pytest.mark.parametrize("warm", [False, True], ids=["first-reader", "ring-is-there"])
@pytest.mark.parametrize("where", ["header", "query"])
async def test_pub05_cursors_over_sse(
    gateway: Gateway, cursor: str | None, reset: str | None, first: int, warm: bool, where: str
) -> None:
    log = gateway.services.log(NAME, generation=2, keep=20)
    log.append(b"{}", count=40)
    headers = {"last-event-id": cursor} if cursor is not None and where == "header" else {}
    query = f"?last_event_id={quote(cursor)}" if cursor is not None and where == "query" else ""
    async with stream(gateway.port, PATH) as other:
        if warm:
            await other.until_events(20)
        async with stream(gateway.port, PATH + query, headers) as live:
            assert live.status == 200
            replayed = [f"2-{n}" for n in range(first, 41)]
            if reset is not None:
                replayed.insert(0, "")
            if replayed:
                await live.until_events(len(replayed))
            log.append(b"{}", count=2)
            events = await live.until_events(len(replayed) + 2)
    assert [event.id for event in events] == [*replayed, "2-41", "2-42"]
    if reset is not None:
        assert (events[0].name, orjson.loads(events[0].data)["reason"]) == ("reset", reset)


@pytest.mark.parametrize(("header", "first"), [("1-2", "1-3"), ("abc", ""), ("", "1-1")])
async def test_pub05_the_header_wins_over_the_query_even_where_it_is_malformed(
    gateway: Gateway, header: str, first: str
) -> None:
    gateway.services.log(NAME).append(b"{}", count=5)
    async with stream(gateway.port, f"{PATH}?last_event_id=1-4", {"last-event-id": header}) as live:
        assert (await _ids(live, 1))[0] == first


async def test_many_readers_share_one_subscription_and_all_see_everything(
    gateway: Gateway, stack: AsyncExitStack
) -> None:
    log = gateway.services.log(NAME)
    log.append(b"{}", count=10)
    readers = [await stack.enter_async_context(stream(gateway.port, PATH)) for _ in range(30)]
    for _ in range(20):
        log.append(b"{}", count=5)
        await asyncio.sleep(0)
    for live in readers:
        assert await _ids(live, 110) == [f"1-{n}" for n in range(1, 111)]
    assert log.subscribed == [""]


async def test_readers_do_not_notice_that_the_service_was_away(gateway: Gateway) -> None:
    log = gateway.services.log(NAME)
    log.append(b"{}", count=3)
    async with stream(gateway.port, PATH) as live:
        await live.until_events(3)
        log.break_off(Unavailable("LOG_UNAVAILABLE", "restarting"))
        log.append(b"{}", count=2)
        while len(log.subscribed) < 3:
            await asyncio.sleep(0.01)
        log.broken = None
        log.append(b"{}")
        assert await _ids(live, 6) == [f"1-{n}" for n in range(1, 7)]
    assert set(log.subscribed[1:]) == {"1-3"}


async def test_a_new_generation_ends_the_readers_and_they_are_told_when_they_come_back(gateway: Gateway) -> None:
    log = gateway.services.log(NAME)
    log.append(b"{}", count=3)
    async with stream(gateway.port, PATH) as live:
        await live.until_events(3)
        log.generation, log.newest = 2, 0
        log.events.clear()
        log.append(b"{}", count=2)
        log.break_off(Unavailable("GENERATION", "a newer generation"))
        while len(log.subscribed) < 2:
            await asyncio.sleep(0.01)
        log.broken = None
        await live.until_end()
    assert [event.id for event in strict(live.body).events] == ["1-1", "1-2", "1-3"]
    async with stream(gateway.port, PATH, {"last-event-id": "1-3"}) as back:
        events = await back.until_events(3)
    assert [(event.name, event.id) for event in events] == [("reset", ""), ("text_delta", "2-1"), ("text_delta", "2-2")]


async def test_a_stream_that_the_service_refuses_later_ends_and_is_refused_from_then_on(gateway: Gateway) -> None:
    log = gateway.services.log(NAME)
    log.append(b"{}")
    async with stream(gateway.port, PATH) as live:
        await live.until_events(1)
        del gateway.services.logs[NAME]
        log.break_off(NotFound("SESSION_NOT_FOUND", "deleted"))
        await live.until_end()
    assert (await gateway.http.get(PATH)).status_code == 404


async def test_feeds_of_a_thread_and_of_the_tenant(gateway: Gateway) -> None:
    for name, path in (("threads/thr_1", "/api/threads/thr_1/stream"), ("tenant", "/api/stream")):
        gateway.services.log(name).append(b'{"kind":"x"}', event="thread")
        async with stream(gateway.port, path) as live:
            assert [event.name for event in await live.until_events(1)] == ["thread"]


async def test_callers_with_other_rights_get_a_subscription_of_their_own(start: Start, stack: AsyncExitStack) -> None:
    gateway = await start(auth_secret=SECRET)
    log = gateway.services.log(NAME)
    log.append(b"{}")
    assert (await gateway.http.get(PATH)).status_code == 401
    people = [bearer("acme", "ann"), bearer("acme", "bob"), bearer("other", "eve"), bearer("acme", "eve", frozenset())]
    readers = [await stack.enter_async_context(stream(gateway.port, PATH, headers)) for headers in people]
    for live in readers:
        await live.until_events(1)
    assert log.open == 3  # ann and bob have the same rights in the same tenant
