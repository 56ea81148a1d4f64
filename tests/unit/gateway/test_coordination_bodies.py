"""The thread-mode seed's bodies over REST: what must be there is there, and what is not of its type is refused."""

from __future__ import annotations

from typing import Any

import pytest

from services.kernel import errors
from tests.fakes.running_gateway import Gateway
from treadle.coordination.v1 import coordination_service_pb2 as pb

FLAG = {"session_id": "ses_1", "enabled": True}
REGISTER = {"coordinator_session_id": "ses_1", "name": "alpha", "worker_session_id": "ses_2", "brief": "do it"}


async def test_the_flag_answers_ok_and_a_false_that_is_there(gateway: Gateway) -> None:
    gateway.script.answers["SetThreadMode"] = pb.SetThreadModeResponse(ok=True, session_id="ses_1", enabled=False)
    response = await gateway.http.post("/api/coordination/flag", json={**FLAG, "enabled": False})
    assert response.json() == {"ok": True, "session_id": "ses_1", "enabled": False}
    [(_, request)] = gateway.script.asked
    assert request.HasField("enabled")
    assert request.enabled is False


async def test_a_flag_that_is_missing_reaches_the_service_as_missing(gateway: Gateway) -> None:
    for body in ({"session_id": "ses_1"}, {"session_id": "ses_1", "enabled": None}):
        gateway.script.forget()
        gateway.script.answers["SetThreadMode"] = errors.Invalid(
            "INVALID_ARGUMENT", "enabled: give it", field="enabled"
        )
        refused = await gateway.http.post("/api/coordination/flag", json=body)
        assert (refused.status_code, refused.json()["metadata"]["field"]) == (400, "enabled")
        assert not gateway.script.asked[0][1].HasField("enabled")


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        *(("flag", {**FLAG, "enabled": value}, "enabled") for value in ("true", 1, 0, "", [], {})),
        *(("flag", {**FLAG, "session_id": value}, "session_id") for value in (5, True, ["ses_1"], {})),
        ("flag", {**FLAG, "mode": "on"}, "mode"),
        ("flag", {**FLAG, "policy": {"auto_wake": "yes"}}, "policy.auto_wake"),
        ("flag", {**FLAG, "policy": {"color": 1}}, "policy.color"),
        *(("register", {**REGISTER, name: 7}, name) for name in REGISTER),
        ("register", {**REGISTER, "kind": "session"}, "kind"),
        ("register", {**REGISTER, "brief": "x\0"}, "brief"),
    ],
)
async def test_other_types_and_other_names_are_refused_by_field(
    gateway: Gateway, path: str, body: dict[str, Any], field: str
) -> None:
    refused = await gateway.http.post(f"/api/coordination/{path}", json=body)
    assert (refused.status_code, refused.json()["metadata"]["field"]) == (400, field)
    assert gateway.script.asked == []


async def test_a_registered_worker_has_the_ids_that_it_has_and_no_others(gateway: Gateway) -> None:
    worker = pb.Worker(
        name="alpha",
        kind=pb.Worker.KIND_SESSION,
        status=pb.Worker.STATUS_RUNNING,
        brief="do it",
        ids=pb.Worker.Ids(worker_session_id="ses_2"),
        updated_at=7,
    )
    gateway.script.answers["RegisterWorker"] = pb.RegisterWorkerResponse(ok=True, thread=worker)
    answer = (await gateway.http.post("/api/coordination/register", json=REGISTER)).json()
    assert answer["ok"] is True
    thread = answer["thread"]
    assert thread["ids"] == {"worker_session_id": "ses_2"}
    assert (thread["kind"], thread["status"], thread["notes"], thread["updated_at"]) == ("session", "running", [], 7)
    assert (thread["has_result"], thread["partial"]) == (False, False)
    assert "result" not in thread
    worker.result = ""
    gateway.script.answers["RegisterWorker"] = pb.RegisterWorkerResponse(ok=True, thread=worker)
    assert (await gateway.http.post("/api/coordination/register", json=REGISTER)).json()["thread"]["result"] == ""


async def test_a_roster_of_nobody_is_whole(gateway: Gateway) -> None:
    gateway.script.answers["GetRoster"] = pb.Roster(coordinator_session_id="ses_1", updated_at=7)
    query = {"coordinator_session_id": "ses_1"}
    answer = (await gateway.http.get("/api/coordination/roster", params=query)).json()
    seeds = {"coordinator_session_id": "ses_1", "enabled": False, "updated_at": 7, "notes": [], "threads": []}
    assert {name: answer[name] for name in seeds} == seeds
    gateway.script.answers["GetRoster"] = errors.NotFound("COORDINATOR_NOT_FOUND", "no record")
    assert (await gateway.http.get("/api/coordination/roster", params=query)).status_code == 404


async def test_a_spawn_answers_item_by_item_in_order(gateway: Gateway) -> None:
    spawned = pb.SpawnWorkersResponse.Spawned
    gateway.script.answers["SpawnWorkers"] = pb.SpawnWorkersResponse(
        ok=True,
        threads=[
            spawned(name="A", code="invalid_name", error="no"),
            spawned(name="b", ok=True, kind=pb.Worker.KIND_SUBAGENT, subagent_id="wrk_1"),
        ],
    )
    body = {"threads": [{"name": "A", "brief": "x"}, {"name": "b", "brief": "y", "context": "z"}]}
    answer = (await gateway.http.post("/api/sessions/ses_1/workers", json=body)).json()
    assert [(one["name"], one["ok"], one["code"]) for one in answer["threads"]] == [
        ("A", False, "invalid_name"),
        ("b", True, ""),
    ]
    assert answer["threads"][1]["kind"] == "subagent"
