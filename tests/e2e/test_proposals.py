"""An agent proposes, a person decides, it runs once: through the whole house, over kill -9, in branches, by MCP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.e2e.matter import Card, Matters, assert_log_is_whole, cited, transitions
from tests.e2e.test_sessions import Sessions
from tests.stack import Stack, running_stack
from tests.unit.gateway.mcp_client import mcp_client, refusal_in

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]
PROPOSE = '[[propose task_create {"task_text": "Call the miller"}]] [[proposals]]'
QUICK = {"TREADLE_SCRIPTED_PACE_MS": "0", "TREADLE_SESSION_LEASE_SECONDS": "2"}


async def turn(sessions: Sessions, session: str, text: str) -> str:
    """A whole turn; what was answered."""
    await sessions.prompt(session, text)
    card = await sessions.settled(session)
    assert card["outcome"] == "ok", card
    return (await sessions.texts(session))[-1]


async def inbox(client: httpx.AsyncClient) -> list[Card]:
    """What waits for a person."""
    answer = await client.get("/api/inbox")
    assert answer.status_code == 200, answer.text
    waiting: list[Card] = answer.json()["threads"]
    return waiting


async def proposals(sessions: Sessions, session: str) -> list[Card]:
    """Of a session, newest first."""
    found: list[Card] = (await sessions.ask("GET", f"/{session}/proposals"))["proposals"]
    return found


def tasks(stack: Stack) -> list[str]:
    """What was done."""
    file = stack.home / "files" / "tasks.md"
    return file.read_text().splitlines() if file.exists() else []


async def approved(matters: Matters, card: Card) -> Card:
    """To its end."""
    answer = await matters.approve(card)
    assert answer.status_code == 200, answer.text
    done = await matters.wait(card["id"], "done")
    assert_log_is_whole(await matters.events(card["id"]), done)
    return done


async def test_what_an_agent_proposes_waits_for_a_person_over_kill_9_and_runs_once(tmp_path: Path) -> None:
    async with running_stack(tmp_path, environment=QUICK) as stack:
        async with stack.client() as client:
            sessions = Sessions(client)
            session = await sessions.open()
            said = await turn(sessions, session, PROPOSE)
            assert said == "I proposed it; it waits for a person.\n\n- Call the miller: awaiting_confirmation"
            (card,) = await inbox(client)
            assert (card["session_id"], card["title"]) == (session, "Call the miller")
            assert card["actions"][0]["parameters"] == {"task_text": "Call the miller"}
            before = cited(card)
        await stack.kill()
        await stack.start()
        async with stack.client() as client:
            sessions, matters = Sessions(client), Matters(client)
            (card,) = await inbox(client)
            assert cited(card) == before
            assert tasks(stack) == []
            await approved(matters, card)
            assert tasks(stack) == ["- [ ] Call the miller"]
            events = await matters.events(card["id"])
            assert (events[0]["actor"], events[0]["data"]["session_id"]) == (
                {"kind": "agent", "subject": session},
                session,
            )
            assert [trigger for _, trigger, _ in transitions(events)].count("execute") == 1
            assert (await matters.approve(card)).status_code == 409
            (told,) = await proposals(sessions, session)
            assert (told["decision"], told["result"]["success"], told["state"]) == ("approve", True, "done")
            async with asyncio.timeout(30):  # the killed runner's hold of the session ends
                while (await sessions.ask("GET", f"/{session}"))["agent"] != "none":
                    await asyncio.sleep(0.05)
            assert await turn(sessions, session, "[[proposals]]") == "- Call the miller: done (approve)"
            assert await inbox(client) == []


async def test_an_approval_in_a_branch_never_acts_on_its_origin(tmp_path: Path) -> None:
    async with running_stack(tmp_path, environment=QUICK) as stack, stack.client() as client:
        sessions, matters = Sessions(client), Matters(client)
        origin = await sessions.open()
        await turn(sessions, origin, PROPOSE)
        await turn(sessions, origin, '[[propose task_create {"task_text": "later"}]]')
        branch = (await sessions.ask("POST", f"/{origin}/branches", turn=1))["session_id"]
        async with asyncio.timeout(30):
            while (await sessions.ask("GET", f"/{branch}/branch"))["state"] != "ready":
                await asyncio.sleep(0.05)
        assert await proposals(sessions, branch) == []
        await turn(sessions, branch, PROPOSE)
        (theirs,) = await proposals(sessions, branch)
        later, mine = await proposals(sessions, origin)
        assert len({theirs["proposal_id"], mine["proposal_id"], later["proposal_id"]}) == 3
        in_branch = await matters.card(theirs["thread_id"])
        wrong = await matters.decide(mine["thread_id"], "accept", cited(in_branch))
        assert (wrong.status_code, wrong.json()["reason"]) == (409, "PROPOSAL_CHANGED")
        await approved(matters, in_branch)
        assert tasks(stack) == ["- [ ] Call the miller"]
        assert (await matters.card(mine["thread_id"]))["state"] == "awaiting_confirmation"

        # What the branch shows of its origin: what was open when turn 2 of it began.
        second = (await sessions.ask("GET", f"/{origin}/turns"))["turns"][1]
        then = {"session_id": origin, "open_at": second["create_time"]}
        shown = (await client.get("/api/threads", params=then)).json()["threads"]
        assert [one["id"] for one in shown] == [mine["thread_id"]]
        workers = await client.get(f"/api/sessions/{origin}/workers", params={"open_at": second["create_time"]})
        assert (workers.status_code, workers.json()["threads"]) == (200, [])

        await approved(matters, await matters.card(mine["thread_id"]))
        assert tasks(stack) == ["- [ ] Call the miller"] * 2
        shown = (await client.get("/api/threads", params=then)).json()["threads"]
        assert [(one["id"], one["state"]) for one in shown] == [(mine["thread_id"], "done")]
        bad = await client.get("/api/threads", params={**then, "open_at": "yesterday"})
        assert (bad.status_code, bad.json()["metadata"]["field"]) == (400, "open_at")


@asynccontextmanager
async def agent(stack: Stack, client: httpx.AsyncClient, session: str) -> AsyncIterator[Any]:
    """The session's outside agent, with a token that a person has given it."""
    token = (await client.post(f"/api/sessions/{session}/agent_token", json={})).json()["token"]
    async with mcp_client(stack.url, {"authorization": f"Bearer {token}"}) as found:
        yield found


async def test_propose_action_by_the_real_mcp_client(tmp_path: Path) -> None:
    call = {"title": "Weigh", "capability_name": "task_create", "parameters": {"task_text": "weigh \u00fc \U0001f9f5"}}
    async with running_stack(tmp_path, environment=QUICK) as stack, stack.client() as client:
        sessions, matters = Sessions(client), Matters(client)
        session, other = await sessions.open(adapter="external"), await sessions.open(adapter="external")
        async with agent(stack, client, session) as mcp, agent(stack, client, other) as stranger:
            actions = (await mcp.call_tool("list_actions", {})).structured_content["actions"]
            schemas = {one["capability_name"]: one["parameters_schema"] for one in actions}
            assert schemas["task_create"]["required"] == ["task_text"]
            once = await mcp.call_tool("propose_action", {**call, "request_id": "k"})
            again = await mcp.call_tool("propose_action", {**call, "request_id": "k"})
            assert once.structured_content == again.structured_content
            made = once.structured_content
            assert (made["state"], set(made)) == (
                "awaiting_confirmation",
                {"thread_id", "state", "proposal_id", "hint"},
            )
            for arguments, code, field in (
                ({**call, "capability_name": "no_such"}, "unknown_action", "capability_name"),
                ({**call, "parameters": {}}, "invalid_parameters", "parameters"),
                ({**call, "parameters": {"task_text": "x", "y": 1}}, "invalid_parameters", "parameters"),
                ({**call, "parameters": [1]}, "invalid_json", "parameters"),
                ({**call, "parameters": {"task_text": "x\0y"}}, None, "parameters"),
                ({**call, "title": "x\0y"}, "invalid_field", "title"),
                ({**call, "session": f"sessions/{other}"}, "unknown_field", "session"),
                ({**call, "autonomy": "end_to_end"}, "unknown_field", "autonomy"),
                ({**call, "turn_id": "now"}, "invalid_field", "turn_id"),
                ({**call, "title": ""}, "invalid_text", "title"),
            ):
                error = refusal_in(await mcp.call_tool("propose_action", arguments))
                assert str(error["details"]["field"]).startswith(field), error
                assert code in (None, error["code"]), error
            listed = (await mcp.call_tool("proposal_status", {})).structured_content["proposals"]
            assert [one["thread_id"] for one in listed] == [made["thread_id"]]
            assert (await stranger.call_tool("proposal_status", {})).structured_content["proposals"] == []
            asked = {"thread_id": made["thread_id"]}
            assert refusal_in(await stranger.call_tool("proposal_status", asked))["code"] == "thread_not_found"
            await approved(matters, await matters.card(made["thread_id"]))
            (told,) = (await mcp.call_tool("proposal_status", asked)).structured_content["proposals"]
            assert (told["state"], told["decision"], told["result"]["success"]) == ("done", "approve", True)
        assert tasks(stack) == ["- [ ] weigh \u00fc \U0001f9f5"]

        # A person may propose by REST; raw surrogates are refused by their field.
        answer = await client.post(f"/api/sessions/{session}/proposals", json=call, headers={"idempotency-key": "p"})
        assert answer.status_code == 200, answer.text
        body = rb'{"title": "x\ud83dy", "capability_name": "task_create", "parameters": {"task_text": "x"}}'
        raw = await client.post(
            f"/api/sessions/{session}/proposals", content=body, headers={"content-type": "application/json"}
        )
        assert (raw.status_code, raw.json()["metadata"]["field"]) == (400, "title")
        assert (await client.post("/api/sessions/nobody/proposals", json=call)).status_code == 400
