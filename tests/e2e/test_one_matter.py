"""One matter goes all the way through every deployable, as one process and as two processes of each."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from services.engines import Engines
from tests.conftest import SERVICES, MakeDatabase
from tests.e2e.matter import Matters, assert_log_is_whole, cited, transitions
from tests.nats_server import NatsServer
from tests.stack import running_fleet, running_stack

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]


@dataclass
class Place:
    """A running Treadle, however it runs, and the folder that its actions write to."""

    matters: Matters
    second: Matters
    files: Path


@asynccontextmanager
async def _one_process(tmp_path: Path) -> AsyncIterator[Place]:
    async with running_stack(tmp_path) as stack, stack.client() as client:
        yield Place(Matters(client), Matters(client), stack.home / "files")


@pytest.fixture(params=["one process", "two of each"])
async def place(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    servers: Engines,
    make_database: MakeDatabase,
    nats_server: NatsServer,
) -> AsyncIterator[Place]:
    if request.param == "one process":
        async with _one_process(tmp_path) as running:
            yield running
        return
    urls = {name: await make_database(name) for name in SERVICES}
    async with (
        running_fleet(tmp_path, servers, urls, nats_server.url) as fleet,
        fleet.client(0) as first,
        fleet.client(1) as second,
    ):
        yield Place(Matters(first), Matters(second), tmp_path / "home" / "files")


async def test_from_creation_to_done_and_back_through_every_decision(place: Place) -> None:
    matters, second = place.matters, place.second

    # Approve: what was approved is done, once.
    created = await matters.create("Note the meeting", "append to notes.md: the meeting is on Tuesday")
    assert created["state"] == "awaiting_inference"
    card = await matters.wait(created["id"], "awaiting_confirmation")
    assert card["actions"][0]["name"] == "file_append"
    answer = await second.approve(card)
    assert answer.status_code == 200, answer.text
    assert answer.json()["next_state"] == "executing"
    done = await second.wait(created["id"], "done")
    note = place.files / card["actions"][0]["parameters"]["path"]
    assert note.read_text().count("Tuesday") == 1
    events = await matters.events(created["id"])
    assert_log_is_whole(events, done)
    assert [trigger for _, trigger, _ in transitions(events)].count("execute") == 1

    # A second approval is told who was first.
    late = await matters.approve(card)
    assert late.status_code == 409
    problem = late.json()
    assert problem["reason"] == "ALREADY_DECIDED", problem
    assert problem["metadata"]["decided_by"] == "local"

    # Edit: the edited parameters are what runs.
    created = await matters.create("Note the room", "append to rooms.md: room 12")
    card = await matters.wait(created["id"], "awaiting_confirmation")
    action = card["actions"][0]
    overrides = {action["id"]: {"text": "room 14"}}
    answer = await matters.decide(created["id"], "edit", {**cited(card), "action_overrides": overrides})
    assert answer.status_code == 200, answer.text
    assert answer.json()["next_state"] == "awaiting_confirmation"
    edited = await second.card(created["id"])
    assert cited(edited) != cited(card)
    stale = await matters.approve(card)
    assert (stale.status_code, stale.json()["reason"]) == (409, "ALREADY_DECIDED")
    assert stale.json()["metadata"]["decision"] == "edit"
    assert (await matters.approve(edited)).status_code == 200
    await matters.wait(created["id"], "done")
    rooms = (place.files / action["parameters"]["path"]).read_text()
    assert "room 14" in rooms
    assert "room 12" not in rooms

    # Redirect: feedback reaches the next inference; the old proposal cannot be approved any more.
    created = await matters.create("Write it down", "append to wrong.md: the plan")
    card = await matters.wait(created["id"], "awaiting_confirmation")
    answer = await matters.decide(created["id"], "redirect_action", {"feedback": "append it to right.md instead"})
    assert answer.status_code == 200, answer.text
    assert answer.json()["next_state"] == "awaiting_inference"
    async with asyncio.timeout(30):
        while (again := await second.wait(created["id"], "awaiting_confirmation"))["actions"] == card["actions"]:
            await asyncio.sleep(0.02)
    assert again["actions"][0]["parameters"]["path"] == "right.md"
    assert (await matters.approve(card)).status_code == 409
    assert (await matters.approve(again)).status_code == 200
    await matters.wait(created["id"], "done")
    assert (place.files / "right.md").exists()
    assert not (place.files / "wrong.md").exists()

    # Reject and dismiss: nothing runs.
    created = await matters.create("Never", "append to never.md: x")
    card = await matters.wait(created["id"], "awaiting_confirmation")
    assert (await matters.decide(created["id"], "reject", {"feedback": "no"})).status_code == 200
    assert (await second.card(created["id"]))["state"] == "dismissed"
    created = await matters.create("Never either", "append to never.md: x")
    await matters.wait(created["id"], "awaiting_confirmation")
    assert (await second.decide(created["id"], "dismiss")).status_code == 200
    assert (await matters.card(created["id"]))["state"] == "dismissed"
    assert not (place.files / "never.md").exists()

    # The other real actions.
    await matters.finished("Buy paper for the printer")
    assert "Buy paper for the printer" in (place.files / "tasks.md").read_text()
    async with _http_target() as (url, hits):
        await matters.finished("Tell the hook", f"call {url}")
        assert len(hits) == 1


@asynccontextmanager
async def _http_target() -> AsyncIterator[tuple[str, list[bytes]]]:
    """A server on loopback that counts the requests it gets."""
    hits: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        hits.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        yield f"http://127.0.0.1:{port}/hook", hits


async def test_the_family_and_the_tenant_feed_tell_every_event_once_and_in_order(tmp_path: Path) -> None:
    async with _one_process(tmp_path) as place:
        matters = place.matters
        done = await matters.finished("Watch me")
        log = await matters.events(done["id"])
        for path in (f"/api/threads/{done['id']}/stream", "/api/stream"):
            seen = await _read_feed(matters.client, path, done["id"], len(log))
            assert [(item["seq"], item["kind"]) for item in seen] == [(e["seq"], e["kind"]) for e in log]


async def _read_feed(client: httpx.AsyncClient, path: str, thread_id: str, count: int) -> list[dict[str, object]]:
    """The first `count` events of the thread on the feed, from its start."""
    seen: list[dict[str, object]] = []
    async with asyncio.timeout(20), client.stream("GET", path) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        async for line in answer.aiter_lines():
            if line.startswith("data:"):
                item = json.loads(line.removeprefix("data:"))
                if item.get("thread_id") == thread_id:
                    seen.append(item)
            if len(seen) == count:
                break
    return seen
