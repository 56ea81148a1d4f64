"""Sessions over REST in front of the real service: a turn with gates, from a person's side and a runner's."""

from __future__ import annotations

from tests.integration.gateway.test_streams import House, house  # noqa: F401 - a fixture
from tests.integration.streaming.agent_runner import running

JOINS = [{"left": "a.x", "right": "b.x", "type": "inner"}]
SECRET = "ZX-SECRET-7"


async def test_a_turn_with_a_join_review_over_rest(house: House) -> None:  # noqa: F811
    streaming = await house.start_service()
    http = house.http
    session = (await http.post("/api/sessions", json={"adapter": "scripted", "thinking": "high"})).json()
    assert (session["state"], session["agent"], session["thinking"]) == ("idle", "none", "high")
    at = f"/api/sessions/{session['id']}"
    async with running(streaming) as runner:
        nobody = await http.post(f"{at}/resume", json={})
        assert (nobody.status_code, nobody.json()["reason"]) == (503, "ADAPTER_UNAVAILABLE")
        first = await http.post(f"{at}/prompt", json={"text": "go"}, headers={"Idempotency-Key": "k1"})
        again = await http.post(f"{at}/prompt", json={"text": "go"}, headers={"Idempotency-Key": "k1"})
        assert first.status_code == 200
        assert first.json()["turn_id"] == again.json()["turn_id"]
        busy = await http.post(f"{at}/prompt", json={"text": "more"})
        assert (busy.status_code, busy.json()["reason"]) == (409, "TURN_RUNNING")
        held = await runner.take()
        await held.command("prompt")
        await held.ask("j", "join-review", {"joins": JOINS, "args": SECRET})
        gates = (await http.get(f"{at}/gates", params={"state": "open"})).json()["gates"]
        assert [(one["kind"], one["state"], one["proposal"]) for one in gates] == [
            ("join-review", "open", {"joins": JOINS})
        ]
        assert (await http.get(at)).json()["state"] == "waiting"
        gate = f"{at}/gates/{gates[0]['id']}/answer"
        assert (await http.post(gate, json={"value": "nope"})).status_code == 400
        answered = await http.post(gate, json={"value": "continue"})
        assert (answered.status_code, answered.json()["state"]) == (200, "answered")
        assert answered.json()["answer"] == {"value": "continue"}
        second = await http.post(gate, json={"value": "continue"})
        assert (second.status_code, second.json()["reason"]) == (409, "GATE_CLOSED")
        ledger = (await http.get(f"{at}/ledger")).json()
        assert [(one["sequence"], one["joins"]) for one in ledger["entries"]] == [(1, JOINS)]
        assert ledger["current"]["sequence"] == 1
        steered = await http.post(f"{at}/steer", json={"text": "hurry"})
        assert steered.json()["state"] == "running"
        preserved = await http.post(f"{at}/resume", json={})
        assert preserved.json()["preserved"] is True
        await held.settle(first.json()["turn_id"], final_text="done")
        messages = (await http.get(f"{at}/messages")).json()["messages"]
        assert [(one["role"], one["text"]) for one in messages] == [("user", "go"), ("assistant", "done")]
        assert (await http.post(f"{at}/abort", json={})).status_code == 409
        token = (await http.post(f"{at}/agent_token", json={})).json()
        agent = {"authorization": f"Bearer {token['token']}"}
        assert (await http.get(at, headers=agent)).json()["id"] == session["id"]
        assert (await http.get(at, headers={"authorization": f"Bearer {token['token']}x"})).status_code == 401
        deleted = await http.post("/api/sessions/batch_delete", json={"ids": [session["id"], "nonsense"]})
        assert deleted.json()["results"] == [
            {"id": session["id"], "ok": True, "code": "deleted"},
            {"id": "nonsense", "ok": False, "code": "invalid_id"},
        ]
        assert (await http.get(at)).status_code == 404
        assert (await http.post(f"{at}/resume", json={})).status_code == 404
        assert (await http.get(f"{at}/stream")).status_code == 404
