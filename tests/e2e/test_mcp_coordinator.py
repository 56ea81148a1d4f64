"""An outside agent as coordinator: the real MCP client against `treadle up`, on a session of the adapter `external`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
from mcp import Client

from services.kernel.clock import SystemClock
from services.kernel.principal import Authenticator, Principal
from tests.stack import Stack, running_stack
from tests.unit.gateway.mcp_client import ERAS, agent_bearer, mcp_client, refusal_in
from tests.unit.gateway.sse_client import strict

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]
SECRET = "a-secret-of-this-test-and-of-nobody-else"
NO_LIVE_TURN = (
    "thread_spawn needs a live coordinator turn (no active parent session). "
    "Create the worker from the thread view instead."
)


@pytest.fixture(scope="module")
async def stack(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stack]:
    """One Treadle for the tests of this file."""
    async with running_stack(tmp_path_factory.mktemp("mcp")) as running:
        yield running


@dataclass
class Outside:
    """An outside agent's session, its token, and a person beside it."""

    stack: Stack
    http: httpx.AsyncClient
    session: str
    headers: dict[str, str]

    @property
    def path(self) -> str:
        """The session on REST."""
        return f"/api/sessions/{self.session}"

    def client(self, era: str = "legacy") -> Any:
        """An MCP client that acts for the session."""
        return mcp_client(self.stack.url, self.headers, era=era, seconds=120)


@pytest.fixture
async def outside(stack: Stack) -> AsyncIterator[Outside]:
    """A new session with thread mode on."""
    async with stack.client(60) as http:
        yield await _outside(stack, http)


async def _outside(stack: Stack, http: httpx.AsyncClient) -> Outside:
    session = (await http.post("/api/sessions", json={"adapter": "external", "title": "From outside"})).json()["id"]
    flag = await http.post("/api/coordination/flag", json={"session_id": session, "enabled": True})
    assert flag.json() | {"policy": {}} == {"ok": True, "session_id": session, "enabled": True, "policy": {}}
    token = (await http.post(f"/api/sessions/{session}/agent_token", json={})).json()["token"]
    return Outside(stack, http, session, {"authorization": f"Bearer {token}"})


async def done(client: Client, tool: str, **arguments: Any) -> Any:
    """The structured content of a call that is not refused."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.structured_content
    return result.structured_content


async def refused(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """The error of a call."""
    return refusal_in(await client.call_tool(tool, arguments))


def bearer_of(principal: Principal) -> dict[str, str]:
    """The header of a principal, where the secret is SECRET."""
    token = Authenticator(SECRET, SystemClock()).mint(principal, timedelta(minutes=10))
    return {"authorization": f"Bearer {token}"}


def brief(name: str) -> str:
    return f"[[think about {name}]][[words 5]]\n\n## Result\n\nall about {name} \U0001f9f5"


@pytest.mark.parametrize("era", [*ERAS, "auto"])
async def test_three_workers_from_the_first_word_to_the_last(outside: Outside, era: str) -> None:
    names = ["alpha", "beta", "gamma"]
    async with outside.client(era) as client:
        threads = [{"name": name, "brief": brief(name)} for name in names]
        early = await refused(client, "thread_spawn", threads=threads)
        assert (early["code"], early["message"]) == ("no_live_turn", NO_LIVE_TURN)
        turn = (await done(client, "turn_begin", text="Tell me all about alpha, beta and gamma."))["turn_id"]
        context = await done(client, "get_context")
        assert "thread" in context["text"].lower()
        spawned = await done(client, "thread_spawn", threads=[*threads, {"name": "w1\n", "brief": "x"}])
        assert [(one["name"], one["ok"]) for one in spawned["threads"]] == [
            *((name, True) for name in names),
            ("w1\n", False),
        ]
        assert spawned["threads"][3]["code"] == "invalid_name"
        waited = await done(client, "thread_wait", mode="all", names=names, timeout_seconds=60)
        assert waited["done"]["satisfied"] is True
        status = await done(client, "thread_status")
        assert {one["name"]: one["status"] for one in status["threads"]} == dict.fromkeys(names, "succeeded")
        for name in names:
            first, again = [await done(client, "thread_collect", thread_name=name) for _ in range(2)]
            assert first == again
            assert (first["collected"], first["found"], first["result"]) == (True, True, f"all about {name} \U0001f9f5")
        noted = await done(client, "thread_note", note="all three are in")
        assert noted["note_count"] == 1
        [resource] = (await client.read_resource("treadle://context")).contents
        assert resource.text in context["text"]
        await done(client, "turn_end", text="Here is everything.", turn_id=turn)
        assert (await refused(client, "thread_spawn", threads=threads))["code"] == "no_live_turn"
    messages = (await outside.http.get(f"{outside.path}/messages")).json()["messages"]
    assert [one["role"] for one in messages] == ["user", "assistant"]
    assert messages[1]["text"] == "Here is everything."
    roster = await outside.http.get("/api/coordination/roster", params={"coordinator_session_id": outside.session})
    assert roster.json()["notes"] == ["all three are in"]
    assert all(one["has_result"] and not one["partial"] for one in roster.json()["threads"])


async def test_an_agent_that_comes_back_finds_its_workers_and_starts_none_twice(outside: Outside) -> None:
    threads = [{"name": name, "brief": f"[[slow 500ms]]{brief(name)}"} for name in ("one", "two")]
    async with outside.client() as client:
        await done(client, "turn_begin", text="go")
        await done(client, "thread_spawn", threads=threads, request_id="spawn-1")
        waiting = asyncio.create_task(client.call_tool("thread_wait", {"timeout_seconds": 60}))
        await asyncio.sleep(0.1)
        waiting.cancel()
    async with outside.client() as client:
        again = await done(client, "thread_spawn", threads=threads, request_id="spawn-1")
        assert [(one["name"], one["ok"]) for one in again["threads"]] == [("one", True), ("two", True)]
        fresh = await done(client, "thread_spawn", threads=threads, request_id="spawn-2")
        assert [one["code"] for one in fresh["threads"]] == ["name_taken", "name_taken"]
        assert (await done(client, "thread_wait", timeout_seconds=60))["done"]["satisfied"] is True
        assert (await done(client, "thread_collect", thread_name="two"))["result"].startswith("all about two")
        assert len((await done(client, "thread_status"))["threads"]) == 2
        await done(client, "turn_end", text="done")


async def test_two_clients_of_one_session_spawn_one_name_once(outside: Outside) -> None:
    async with outside.client() as one, outside.client("2026-07-28") as two:
        await done(one, "turn_begin", text="go")
        calls = [done(client, "thread_spawn", threads=[{"name": "same", "brief": "x"}]) for client in (one, two) * 5]
        items = [answer["threads"][0] for answer in await asyncio.gather(*calls)]
        assert sorted(item["code"] for item in items) == ["", *["name_taken"] * 9]
        waited = await done(two, "thread_wait", mode="any", timeout_seconds=60)
        assert waited["done"]["satisfied"] is True
        late = await refused(one, "turn_begin", text="again")
        assert late["code"] == "turn_running"
        await done(two, "turn_end", text="done")


async def test_an_agent_acts_for_its_own_session_alone(stack: Stack, outside: Outside) -> None:
    other = await _outside(stack, outside.http)
    async with outside.client() as mine, other.client() as theirs:
        await done(mine, "turn_begin", text="go")
        spawned = await done(mine, "thread_spawn", threads=[{"name": "alpha", "brief": brief("alpha")}])
        assert (await done(theirs, "thread_status"))["threads"] == []
        assert (await refused(theirs, "thread_collect", thread_name="alpha"))["code"].endswith("_not_found")
        assert (await refused(mine, "thread_status", parent=f"sessions/{other.session}"))["code"] == "unknown_field"
        over_rest = await outside.http.get(f"{outside.path}/workers", headers=other.headers)
        assert (over_rest.status_code, over_rest.json()["reason"]) == (403, "NOT_YOURS")
        await done(mine, "thread_wait", timeout_seconds=60)
        worker = (await done(mine, "thread_status"))["threads"][0]
        assert worker["ids"]["subagent_id"] == spawned["threads"][0]["subagent_id"]
        await done(mine, "turn_end", text="done")
    async with mcp_client(stack.url, agent_bearer(worker["ids"]["subagent_session_id"])) as inside:
        depth = await refused(inside, "thread_spawn", threads=[{"name": "deeper", "brief": "x"}])
        assert depth["code"] == "depth_exceeded"
        assert (await done(inside, "thread_note", note="from within"))["note_count"] == 1
        assert (await refused(inside, "thread_note", note="x", thread_name="beta"))["code"] in (
            "not_yours",
            "worker_not_found",
        )
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    accept = {"accept": "application/json, text/event-stream"}
    for token in ("x.y.z", "whatever", outside.headers["authorization"][:-3]):
        wrong = {"authorization": token if token.startswith("Bearer") else f"Bearer {token}"}
        assert (await outside.http.post("/mcp", json=body, headers={**accept, **wrong})).status_code == 401
    assert (await outside.http.post("/mcp", json=body, headers=accept)).status_code == 200


async def test_pub22_and_pub21_over_mcp_refused_by_name_and_kept_byte_by_byte(outside: Outside) -> None:
    async with outside.client() as client:
        for note in ("n" * 2_000, "\U0001f9f5" * 2_000, "a\u2028b\x85c\r\nd", "| x | `y` | # z"):
            answer = await done(client, "thread_note", note=note)
            assert answer["note"]["text"] == note.strip()
        for note in ("n" * 2_001, "\U0001f9f5" * 2_001, "", "   "):
            error = await refused(client, "thread_note", note=note)
            assert error["details"]["field"] == "note"
        assert (await refused(client, "thread_note", note="x\0y"))["details"]["field"] == "note"
    raw = (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":'
        b'{"name":"thread_note","arguments":{"note":"x\\ud83dy"}}}'
    )
    headers = {**outside.headers, "accept": "application/json", "content-type": "application/json"}
    answer = (await outside.http.post("/mcp", content=raw, headers=headers)).json()["result"]
    assert answer["isError"] is True
    assert answer["structuredContent"]["error"]["details"]["field"] == "note"
    notes = (await outside.http.get(f"{outside.path}/notes")).json()["notes"]
    assert len(notes) == 4


async def test_pub23_a_huge_result_is_read_in_pages_over_rest_and_mcp(outside: Outside) -> None:
    async with outside.client() as client:
        await done(client, "turn_begin", text="go")
        words = "[[pace 0ms]]## Result\n\n[[words 100000]]"
        await done(client, "thread_spawn", threads=[{"name": "huge", "brief": words}])
        waited = await done(client, "thread_wait", timeout_seconds=120)
        assert waited["done"]["satisfied"] is True
        text, token = "", ""
        while True:
            page = await done(client, "thread_collect", thread_name="huge", page_token=token)
            assert len(page["result"].encode()) <= 262_144
            text += page["result"]
            if not (token := page["next_page_token"]):
                break
        over_rest, token = "", ""
        while True:
            body = {"page_token": token}
            page = (await outside.http.post(f"{outside.path}/workers/huge/collect", json=body)).json()
            over_rest += page["result"]
            if not (token := page["next_page_token"]):
                break
        assert len(text) == page["result_length"] > 262_144
        assert over_rest == text
        bad = await refused(client, "thread_collect", thread_name="huge", page_token="nonsense")
        assert bad["details"]["field"] == "page_token"
        large = {"threads": [{"name": "x", "brief": "b" * 2_000_000}]}
        answer = await outside.http.post(f"{outside.path}/workers", json=large, headers=outside.headers)
        [item] = answer.json()["threads"]
        assert (item["ok"], item["code"]) == (False, "invalid_argument")
        assert "4000" in item["error"]
        large["threads"][0]["brief"] = "b" * 4_200_000
        too_large = await outside.http.post(f"{outside.path}/workers", json=large, headers=outside.headers)
        assert (too_large.status_code, too_large.json()["metadata"]["limit"]) == (413, "4194304")
        await done(client, "turn_end", text="done")


async def test_a_person_waits_over_sse_beside_the_agent(outside: Outside) -> None:
    async with outside.client() as client:
        await done(client, "turn_begin", text="go")
        threads = [{"name": "quick", "brief": brief("quick")}, {"name": "slow", "brief": "[[slow 60s]]never"}]
        await done(client, "thread_spawn", threads=threads)
        wait = f"{outside.path}/workers/wait"
        ended = await outside.http.get(wait, params={"names": ["quick"], "timeout_seconds": 30})
        events = strict(ended.content).events
        assert [event.name for event in events] == ["worker", "done"]
        assert orjson.loads(events[0].data)["name"] == "quick"
        assert orjson.loads(events[1].data)["satisfied"] is True
        late = await outside.http.get(wait, params={"mode": "quorum", "n": 2, "timeout_seconds": 1})
        assert orjson.loads(strict(late.content).events[-1].data)["satisfied"] is False
        for query, status in (("names=nobody", 404), ("mode=quorum&n=3", 400), ("timeout_seconds=301", 400)):
            refusal = await outside.http.get(f"{wait}?{query}")
            assert (refusal.status_code, refusal.headers["content-type"]) == (status, "application/problem+json")
        assert (await done(client, "thread_cancel", thread_name="slow"))["thread"]["name"] == "slow"
        assert (await done(client, "thread_wait", timeout_seconds=60))["done"]["satisfied"] is True
        slow = (await done(client, "thread_status"))["threads"][1]
        assert (slow["status"], slow["reason"]) == ("cancelled", "cancelled")
        await done(client, "turn_end", text="done")


async def test_pub25_a_stop_answers_the_calls_that_wait(tmp_path: Path) -> None:
    async with running_stack(tmp_path) as stack:
        async with stack.client(60) as http:
            outside = await _outside(stack, http)
        async with outside.client() as client:
            await done(client, "turn_begin", text="go")
            await done(client, "thread_spawn", threads=[{"name": "slow", "brief": "[[slow 60s]]late"}])
            waiting = asyncio.create_task(client.call_tool("thread_wait", {"timeout_seconds": 120}))
            async with asyncio.timeout(30):
                while (await done(client, "thread_status"))["threads"][0]["status"] != "running":
                    await asyncio.sleep(0.05)
            stopping = asyncio.create_task(stack.stop())
            error = refusal_in(await asyncio.wait_for(waiting, 20))
            assert error["retryable"] is True
        assert await stopping == 0
        await stack.start()
        async with outside.client() as client:
            assert [one["name"] for one in (await done(client, "thread_status"))["threads"]] == ["slow"]


async def test_i9_with_a_secret_two_tenants_coordinate_side_by_side_and_see_nothing_of_each_other(
    tmp_path: Path,
) -> None:
    async with running_stack(tmp_path, environment={"TREADLE_AUTH_SECRET": SECRET}) as stack:
        sides = []
        async with AsyncExitStack() as opened:
            for tenant in ("acme", "umbra"):
                person = bearer_of(Principal(tenant, "ann", "user", frozenset({"reviewer"})))
                http = await opened.enter_async_context(
                    httpx.AsyncClient(base_url=stack.url, headers=person, timeout=60)
                )
                sides.append(await _outside(stack, http))
            for side in sides:
                async with side.client() as client:
                    await done(client, "turn_begin", text="go")
                    await done(client, "thread_spawn", threads=[{"name": "alpha", "brief": brief(side.session)}])
            for side, other in zip(sides, reversed(sides), strict=True):
                async with side.client() as client:
                    assert (await done(client, "thread_wait", timeout_seconds=60))["done"]["satisfied"] is True
                    collected = await done(client, "thread_collect", thread_name="alpha")
                    assert collected["result"].startswith(f"all about {side.session}")
                    assert len((await done(client, "thread_status"))["threads"]) == 1
                    await done(client, "turn_end", text="done")
                assert (await side.http.get(f"{other.path}/workers")).json().get("threads", []) == []
                roster = {"coordinator_session_id": other.session}
                assert (await side.http.get("/api/coordination/roster", params=roster)).status_code == 404
            forged = agent_bearer(sides[0].session)  # signed with the key that everybody knows
            answer = await sides[0].http.post("/mcp", json={}, headers=forged)
            assert answer.status_code == 401


async def test_a_registered_session_is_told_its_assignment_and_reports_by_itself(
    stack: Stack, outside: Outside
) -> None:
    worker = await _outside(stack, outside.http)
    body = {"coordinator_session_id": outside.session, "name": "by-hand", "brief": "count | the `rows`"}
    registered = await outside.http.post(
        "/api/coordination/register", json={**body, "worker_session_id": worker.session}
    )
    assert registered.json()["thread"]["ids"] == {"worker_session_id": worker.session}
    twice = await outside.http.post("/api/coordination/register", json={**body, "worker_session_id": "ses_other"})
    assert (twice.status_code, twice.json()["reason"]) == (409, "NAME_TAKEN")
    async with outside.client() as coordinator, worker.client() as mine:
        await done(mine, "turn_begin", text="count")
        told = (await done(mine, "get_context"))["text"]
        assert "by-hand" in told
        assert "assignment" in told.lower()
        early = await done(coordinator, "thread_collect", thread_name="by-hand")
        assert (early["collected"], early["status"]) == (False, "running")
        assert early["hint"]
        await done(mine, "thread_report", thread_name="by-hand", text="so far 3", request_id="r1")
        interim = await done(coordinator, "thread_collect", thread_name="by-hand")
        assert (interim["result"], interim["partial"], interim["final"]) == ("so far 3", True, False)
        await done(mine, "thread_report", thread_name="by-hand", text="Well.\n\n## Result\n\n42", final=True)
        ended = await refused(mine, "thread_report", thread_name="by-hand", text="more", final=True)
        assert ended["code"] == "worker_ended"
        final = await done(coordinator, "thread_collect", thread_name="by-hand")
        assert (final["result"], final["final"], final["status"], final["version"]) == ("42", True, "succeeded", 2)
        kept = await done(coordinator, "thread_collect", thread_name="by-hand", version=1)
        assert kept["result"] == "so far 3"
        assert (await refused(mine, "thread_cancel", thread_name="by-hand"))["code"] == "worker_not_found"
        await done(mine, "turn_end", text="42")
