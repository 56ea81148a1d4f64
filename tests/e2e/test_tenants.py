"""I9 with a secret configured: callers are verified at the gateway, and no tenant sees another's bytes."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from pathlib import Path

import httpx
import pytest

from services.kernel.clock import SystemClock
from services.kernel.principal import Authenticator, Principal
from tests.e2e.matter import Matters, cited
from tests.stack import Stack, running_stack

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]
SECRET = "a-secret-of-this-test-and-of-nobody-else"


def _client(stack: Stack, tenant: str, *roles: str, subject: str = "ann") -> httpx.AsyncClient:
    principal = Principal(tenant, subject, "user", frozenset(roles))
    token = Authenticator(SECRET, SystemClock()).mint(principal, timedelta(minutes=10))
    return httpx.AsyncClient(base_url=stack.url, headers={"authorization": f"Bearer {token}"}, timeout=20)


async def test_i9_two_tenants_work_side_by_side_and_see_nothing_of_each_other(tmp_path: Path) -> None:
    async with (
        running_stack(tmp_path, environment={"TREADLE_AUTH_SECRET": SECRET}) as stack,
        stack.client() as nobody,
        _client(stack, "acme", "reviewer") as acme,
        _client(stack, "umbra", "reviewer") as umbra,
        _client(stack, "acme", "viewer", subject="bob") as viewer,
    ):
        assert (await nobody.get("/api/threads")).status_code == 401
        assert (await nobody.get("/healthz")).status_code == 200
        ours, theirs = Matters(acme), Matters(umbra)
        done = await ours.finished("Only ours", "append to acme.md: secret of acme")
        assert [
            event["actor"] for event in await ours.events(done["id"]) if event["data"].get("trigger") == "execute"
        ] == [{"kind": "user", "subject": "ann"}]

        # Another tenant: not there, by any way, and no word of it on its feed.
        other = await theirs.finished("Only theirs", "append to umbra.md: x")
        for path in ("", "/events", "/explain"):
            assert (await umbra.get(f"/api/threads/{done['id']}{path}")).status_code == 404
        assert (await theirs.decide(done["id"], "dismiss")).status_code == 404
        assert [card["id"] for card in (await umbra.get("/api/threads")).json()["threads"]] == [other["id"]]
        assert done["id"] not in await _feed_until(umbra, "/api/stream", other["id"], "done")
        assert done["id"] not in await _feed_for(umbra, f"/api/threads/{done['id']}/stream", 0.5)

        # A viewer reads and may not decide; nothing changed by trying.
        created = await ours.create("Wait for a reviewer", "append to later.md: x")
        card = await Matters(viewer).wait(created["id"], "awaiting_confirmation")
        refused = await Matters(viewer).decide(card["id"], "accept", cited(card))
        assert (refused.status_code, refused.json()["reason"]) == (403, "ROLE_REQUIRED")
        assert (await ours.card(card["id"]))["etag"] == card["etag"]


async def _feed_until(client: httpx.AsyncClient, path: str, thread_id: str, state: str) -> str:
    """Every byte of the feed up to the thread's entry into the state."""
    seen = ""
    async with asyncio.timeout(20), client.stream("GET", path) as answer:
        async for line in answer.aiter_lines():
            seen += line
            if line.startswith("data:"):
                event = json.loads(line.removeprefix("data:"))
                if event.get("thread_id") == thread_id and event.get("to") == state:
                    return seen
    raise AssertionError(seen)


async def _feed_for(client: httpx.AsyncClient, path: str, seconds: float) -> str:
    """Every byte that comes in so long."""
    seen = ""
    try:
        async with asyncio.timeout(seconds), client.stream("GET", path) as answer:
            async for text in answer.aiter_text():
                seen += text
    except TimeoutError:
        pass
    return seen
