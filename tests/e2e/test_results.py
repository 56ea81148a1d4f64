"""Results, waits and injections through the whole house over REST: pages, 413, SSE (C.4, C.6, PUB23)."""

from __future__ import annotations

import asyncio
import hashlib
import json
from pathlib import Path

import httpx
import pytest

from tests.stack import running_stack

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]
MIB = 1024 * 1024


async def test_pub23_a_registered_workers_large_result_over_rest(tmp_path: Path) -> None:
    async with running_stack(tmp_path) as stack, stack.client(60) as client:
        made = await client.post("/api/sessions", json={"adapter": "external"})
        session = made.json()["id"]
        at = f"/api/sessions/{session}"
        flagged = await client.post("/api/coordination/flag", json={"session_id": session, "enabled": True})
        assert flagged.status_code == 200, flagged.text
        for name in ("alpha", "beta"):
            body = {"coordinator_session_id": session, "name": name, "worker_session_id": f"ext-{name}", "brief": "go"}
            registered = await client.post("/api/coordination/register", json=body)
            assert registered.status_code == 200, registered.text

        waiting = asyncio.create_task(_events(client, f"{at}/workers/wait?mode=any&timeout_seconds=60"))
        # What the service takes can be sent, however long its escapes are, and comes in pages; what is larger is
        # refused with the limit in its words, and changes nothing.
        for size in (3 + 1 / MIB, 3.9, 4.1, 20):
            refused = await client.post(f"{at}/workers/alpha/report", json={"text": "z" * int(size * MIB)})
            assert refused.status_code == 413, (size, refused.text)
            limit = refused.json()["metadata"]["limit"]
            assert limit in refused.json()["detail"], refused.text
        heading = "intro\n\n## Result\n\n"
        text = "é" * ((3 * MIB - len(heading)) // 2)
        report = {"text": heading + text, "final": True}
        assert len(report["text"].encode()) in (3 * MIB - 1, 3 * MIB)
        reported = await client.post(f"{at}/workers/alpha/report", json=report)
        assert reported.status_code == 200, reported.text
        assert (reported.json()["thread"]["status"], reported.json()["version"]) == ("succeeded", 1)

        pages: list[str] = []
        token = ""
        while token or not pages:
            page = (await client.post(f"{at}/workers/alpha/collect", json={"page_token": token})).json()
            assert (page["collected"], page["found"], page["final"], page["partial"]) == (True, True, True, False)
            assert page["result_sha256"] == hashlib.sha256(text.encode()).hexdigest()
            pages.append(page["result"])
            token = page["next_page_token"]
        assert "".join(pages) == text
        assert len(pages) == 12
        listed = (await client.get(f"{at}/workers")).json()["threads"]
        assert [(one["name"], one["status"]) for one in listed] == [("alpha", "succeeded"), ("beta", "running")]

        events = await waiting
        assert [(name, body.get("name", body.get("satisfied"))) for name, body in events] == [
            ("worker", "alpha"),
            ("done", True),
        ]
        nothing = (await client.post(f"{at}/workers/beta/collect", json={})).json()
        assert (nothing["collected"], nothing["status"], nothing["worker_session_id"]) == (False, "running", "ext-beta")

        turn = (await client.post(f"{at}/turn_begin", json={"text": "and now?"})).json()["turn_id"]
        told = (await client.post(f"{at}/context", json={"turn_id": turn})).json()
        assert told["role"] == "coordinator"
        assert "| alpha | session | succeeded | result ready | go |" in told["text"]
        assert (await client.get(f"{at}/context")).json() == told
        assert (await client.get(f"{at}/context?turn_id=trn_2")).status_code == 404


async def _events(client: httpx.AsyncClient, path: str) -> list[tuple[str, dict[str, object]]]:
    """(event, data) of an SSE stream that ends by itself."""
    events: list[tuple[str, dict[str, object]]] = []
    name = ""
    async with client.stream("GET", path) as answer:
        assert answer.status_code == 200
        async for line in answer.aiter_lines():
            if line.startswith("event: "):
                name = line.removeprefix("event: ")
            elif line.startswith("data: "):
                events.append((name, json.loads(line.removeprefix("data: "))))
    return events
