"""Plans and branches through the whole house: gateway, planning, streaming, the agent; and over kill -9."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.test_sessions import Sessions
from tests.e2e.verified import assert_verified
from tests.stack import running_stack

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]


async def _ready(sessions: Sessions, branch: str) -> None:
    async with asyncio.timeout(90):
        while (await sessions.ask("GET", f"/{branch}/branch"))["state"] != "ready":
            await asyncio.sleep(0.05)


async def _turn(sessions: Sessions, session: str, text: str) -> None:
    await sessions.prompt(session, text)
    assert (await sessions.settled(session))["outcome"] == "ok"
    async with asyncio.timeout(90):  # planning hears of the end a moment later
        while (await sessions.ask("GET", f"/{session}/turns"))["turns"][-1]["running"]:
            await asyncio.sleep(0.02)


def _texts(plan: dict[str, Any]) -> list[str]:
    return [f"{step['number']} {step['text']}" for step in plan["steps"]]


async def test_pub12_plan_branch_diff_and_cherry_pick_by_rest_over_kill_9(tmp_path: Path) -> None:
    async with running_stack(tmp_path) as stack:
        async with stack.client() as client:
            sessions = Sessions(client)
            session = await sessions.open()
            await sessions.ask("PUT", f"/{session}/objective", text="Ship it")
            plan = await sessions.ask("POST", f"/{session}/plan/add", items=["look", "build"])
            assert (plan["version"], plan["progress"]) == (1, 0.0)
            assert set(plan["steps"][0]) >= {"id", "index", "number", "depth", "text", "done"}
            await _turn(sessions, session, "one")
            await sessions.ask("POST", f"/{session}/plan/add", items=["draft"], parent_index=2)
            await sessions.ask("POST", f"/{session}/plan/toggle", indices=[1])
            await _turn(sessions, session, "two")
            await sessions.ask("PUT", f"/{session}/objective", text="Ship it today")
            await sessions.ask("POST", f"/{session}/plan/move", index=1, after_index=2)
            at_two = await sessions.ask("GET", f"/{session}/turns/2/workspace")
            await _turn(sessions, session, "three")
            assert await sessions.ask("GET", f"/{session}/turns/2/workspace") | {"live": True, "plan": 0} == at_two | {
                "live": True,
                "plan": 0,
            }
            branch = (await sessions.ask("POST", f"/{session}/branches", turn=2))["session_id"]
            await _ready(sessions, branch)
            one = await sessions.ask("POST", f"/{session}/branches", turn=1)
            await _ready(sessions, one["session_id"])
        await stack.kill()
        await stack.start()
        async with stack.client() as client:
            sessions = Sessions(client)
            assert (await sessions.ask("GET", f"/{branch}/objective"))["text"] == "Ship it today"
            assert _texts(await sessions.ask("GET", f"/{branch}/plan")) == ["1 build", "1.1 draft", "2 look"]
            assert _texts(await sessions.ask("GET", f"/{one['session_id']}/plan")) == ["1 look", "2 build", "2.1 draft"]
            assert await sessions.texts(branch) == ["You said: one", "You said: two"]
            await _turn(sessions, branch, "[[recall]]")
            assert (await sessions.texts(branch))[-1] == "I remember 2 turns, the last: two"
            await sessions.ask("POST", f"/{branch}/plan/edit", edits=[{"index": 1, "text": "build better"}])
            diff = await sessions.ask("GET", f"/{session}/diff/{branch}")
            assert [(change["kinds"], change["after"]["text"]) for change in diff["changes"]] == [
                (["edited"], "build better")
            ]
            origin_ids = [change["origin_id"] for change in diff["changes"]]
            plan = await sessions.ask("POST", f"/{session}/cherry_pick", source=branch, origin_ids=origin_ids)
            assert _texts(plan) == ["1 build better", "1.1 draft", "2 look"]
            graph = await sessions.ask("GET", f"/{session}/graph")
            assert [node["number"] for node in graph["nodes"]] == [1, 2, 3, 3]
            assert {head["session_id"] for head in graph["heads"]} == {session, branch, one["session_id"]}
            await client.post("/api/sessions/batch_delete", json={"ids": [session]})
            async with asyncio.timeout(90):
                while (await client.get(f"/api/sessions/{session}/plan")).status_code != 404:
                    await asyncio.sleep(0.05)
            assert _texts(await sessions.ask("GET", f"/{branch}/plan"))[0] == "1 build better"
            await assert_verified(str(stack.home))


async def test_an_agent_plans_with_its_tools_and_its_plan_is_kept_with_its_turns(tmp_path: Path) -> None:
    async with running_stack(tmp_path) as stack, stack.client() as client:
        sessions = Sessions(client)
        session = await sessions.open()
        await _turn(sessions, session, "[[objective Ship it]] [[plan look | build]] [[plan 2: draft]] [[done 1]]")
        plan = await sessions.ask("GET", f"/{session}/plan")
        assert _texts(plan) == ["1 look", "2 build", "2.1 draft"]
        assert [step["done"] for step in plan["steps"]] == [True, False, False]
        assert (await sessions.ask("GET", f"/{session}/objective"))["updated_by"] == "agent"
        await _turn(sessions, session, "[[remove 2]] [[context]]")
        assert "Objective: Ship it" in (await sessions.texts(session))[-1]
        assert _texts(await sessions.ask("GET", f"/{session}/plan")) == ["1 look"]
        told = await sessions.ask("GET", f"/{session}/plan/context?turn=2")
        assert told["text"].strip() in (await sessions.texts(session))[-1], "what is kept is what the agent was told"
        assert told["sha256"] == hashlib.sha256(told["text"].encode()).hexdigest()
        assert "(3) 2.1 draft" in told["text"]  # as it was before the turn's own changes
        assert await sessions.ask("GET", f"/{session}/plan/context?turn_id={told['turn_id']}") == told
        assert await sessions.ask("GET", f"/{session}/plan/context") == told
        nothing = await client.get(f"/api/sessions/{session}/plan/context?turn=1")
        assert (nothing.status_code, nothing.json()["reason"]) == (404, "PLAN_CONTEXT_NOT_FOUND")
        kept = await sessions.ask("GET", f"/{session}/turns/1/workspace")
        assert _texts(kept["plan"]) == ["1 look", "2 build", "2.1 draft"]
        branch = (await sessions.ask("POST", f"/{session}/branches", turn=1))["session_id"]
        await _ready(sessions, branch)
        await _turn(sessions, branch, "[[done 3]]")
        assert [step["done"] for step in (await sessions.ask("GET", f"/{branch}/plan"))["steps"]] == [True, False, True]
        assert _texts(await sessions.ask("GET", f"/{session}/plan")) == ["1 look"]


async def test_a_document_is_deleted_by_rest_and_an_earlier_turn_has_it(tmp_path: Path) -> None:
    async with running_stack(tmp_path) as stack, stack.client() as client:
        sessions = Sessions(client)
        session = await sessions.open()
        first = await sessions.ask("PUT", f"/{session}/documents/notes.md", content="one")
        await _turn(sessions, session, "one")
        second = await sessions.ask("PUT", f"/{session}/documents/notes.md", content="two")
        path = f"/api/sessions/{session}/documents/notes.md"
        stale = await client.delete(path, headers={"if-match": first["etag"]})
        assert (stale.status_code, stale.json()["reason"]) == (412, "ETAG_MISMATCH")
        for _ in range(2):
            gone = await client.delete(path, headers={"if-match": second["etag"], "idempotency-key": "once"})
            assert (gone.status_code, gone.json()) == (200, {})
        assert (await client.get(path)).status_code == 404
        branch = (await sessions.ask("POST", f"/{session}/branches", turn=0, fork=True))["session_id"]
        await _ready(sessions, branch)
        assert (await sessions.ask("GET", f"/{branch}/documents/notes.md"))["content"] == "one"


async def test_pub21_pub22_texts_by_rest_at_their_limits_and_what_cannot_be_encoded(tmp_path: Path) -> None:
    async with running_stack(tmp_path) as stack, stack.client() as client:
        sessions = Sessions(client)
        session = await sessions.open()
        json = {"content-type": "application/json"}
        written: list[tuple[str, str, str, int]] = [
            ("PUT", "objective", '{"text": "%s"}', 500),
            ("POST", "plan/add", '{"items": ["fine", "%s"]}', 500),
            ("POST", "plan/edit", '{"edits": [{"index": 1, "text": "%s"}]}', 500),
            ("PUT", "documents/notes", '{"content": "%s"}', 0),
            ("POST", "branches", '{"turn": 0, "fork": true, "title": "%s"}', 200),
        ]
        for method, path, body, most in written:
            for bad in ("x\\ud83dy", "\\udc00", "\\udc00\\ud83d", "x\\u0000"):
                url, content = f"/api/sessions/{session}/{path}", (body % bad).encode()
                answer = await client.request(method, url, content=content, headers=json)
                assert answer.status_code == 400, (path, bad, answer.text)
                assert answer.json()["metadata"]["field"]
            for face in ("\U0001f600", "\\ud83d\\ude00") if most else ():
                for over in (0, 1):
                    content = (body % (face * (most + over))).encode()
                    answer = await client.request(method, url, content=content, headers=json)
                    assert answer.status_code == (400 if over else 200), (path, over, answer.text)
                    if over:
                        assert answer.json()["metadata"]["limit"] == str(most)
        faces = "\U0001f600" * 500
        assert (await sessions.ask("GET", f"/{session}/objective"))["text"] == faces
        assert {step["text"] for step in (await sessions.ask("GET", f"/{session}/plan"))["steps"]} == {"fine", faces}
        session = await sessions.open()
        for value in (True, "1", 1.5, None, 0):
            answer = await client.post(
                f"/api/sessions/{session}/plan/add", json={"items": ["x"], "parent_index": value}
            )
            assert answer.status_code == (200 if value is None else 400), (value, answer.text)
        assert len((await sessions.ask("GET", f"/{session}/plan"))["steps"]) == 1
        mismatch = await client.put(
            f"/api/sessions/{session}/objective", json={"text": "x"}, headers={"if-match": '"7"'}
        )
        assert mismatch.status_code == 412
