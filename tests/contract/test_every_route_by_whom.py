"""I9 on every route of sessions, workers and plans: what is another's is neither read nor changed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import httpx
import pytest

from gateway.contexts import services
from gateway.transcode.http_rules import Route, routes_of
from services.kernel.clock import SystemClock
from services.kernel.ids import new_id
from services.kernel.principal import Authenticator, Kind, Principal
from tests.contract.mutations import COORDINATION, PLANNING, SESSIONS, Desk, Mutation, filled, open_desk, step_names
from tests.stack import Stack, running_stack

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]
SECRET = "a-secret-of-this-test-and-of-nobody-else"
SAID = "ZX-ACME-7"
"""Stands in everything that the desk holds."""
READS = [
    route
    for route in routes_of(services())
    if route.context != "threads" and route.verb == "GET" and "threads" not in route.segments
]
OF_NOBODY = {"ListSessions", "SubscribeTenant"}
"""They name no session."""
MUTATIONS = [*COORDINATION, *PLANNING, *SESSIONS]
REST_OF_THEM = [
    ("SteerSession", "/sessions/{s}/steer", {"text": "x"}),
    ("ResumeSession", "/sessions/{s}/resume", {}),
    ("MintAgentToken", "/sessions/{s}/agent_token", {}),
    ("BatchDeleteSessions", "/sessions/batch_delete", {"ids": ["{s}"]}),
    ("ComposeContext", "/sessions/{s}/context", {"turn_id": "trn_x"}),
]


@pytest.fixture(scope="module")
async def stack(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stack]:
    """One Treadle with a secret."""
    async with running_stack(tmp_path_factory.mktemp("whom"), environment={"TREADLE_AUTH_SECRET": SECRET}) as running:
        yield running


def _of(stack: Stack, tenant: str, subject: str, *roles: str, kind: Kind = "user", minutes: int = 10) -> Any:
    principal = Principal(tenant, subject, kind, frozenset(roles))
    token = Authenticator(SECRET, SystemClock()).mint(principal, timedelta(minutes=minutes))
    return httpx.AsyncClient(base_url=stack.url, headers={"authorization": f"Bearer {token}"}, timeout=60)


@pytest.fixture
async def desk(stack: Stack) -> AsyncIterator[Desk]:
    """A session of acme, full of what only acme may see."""
    async with _of(stack, "acme", "ann", "reviewer") as ann:
        desk = await open_desk(ann)
        await step_names(desk)
        await desk.ask("PUT", "/sessions/{s}/objective", {"text": SAID})
        await desk.ask("POST", "/sessions/{s}/plan/edit", {"edits": [{"index": 1, "text": SAID}]})
        await desk.ask("PUT", "/sessions/{s}/documents/doc", {"content": SAID})
        await desk.ask("POST", "/sessions/{s}/notes", {"note": SAID})
        await desk.ask("POST", "/sessions/{s}/workers/reg/report", {"text": SAID})
        branch = await desk.ask("POST", "/sessions/{s}/branches", {"turn": 0, "title": SAID})
        desk.names |= {"branch": branch["session_id"], "origin1": "stp_1", "origin2": "stp_2", "gate": new_id("gat")}
        yield desk


def _path(route: Route, desk: Desk) -> str:
    """The route on the desk, short where it would wait."""
    open_segments = {"sessions": desk.session, "turns": "0", "documents": "doc", "diff": desk.session, "workers": "reg"}
    parts = [
        segment if segment is not None else open_segments[route.segments[at - 1] or ""]
        for at, segment in enumerate(route.segments)
    ]
    query = {"GetRoster": f"?coordinator_session_id={desk.session}", "WaitWorkers": "?timeout_seconds=1"}
    return "/" + "/".join(parts) + query.get(route.method.name, "")


async def _read(http: httpx.AsyncClient, path: str) -> tuple[int, str]:
    """Status and body; of a stream that goes on, its first bytes."""
    async with http.stream("GET", path) as response:
        if path.partition("?")[0].endswith("/stream") and response.status_code == 200:
            return 200, await anext(response.aiter_text())
        return response.status_code, (await response.aread()).decode()


async def _try(http: httpx.AsyncClient, desk: Desk, verb: str, path: str, body: Any) -> httpx.Response:
    names = {"s": desk.session, **desk.names}
    told = None if verb == "DELETE" else filled(body, names)
    return await http.request(verb, f"/api{path.format(**names)}", json=told)


def _every(mutations: list[Mutation]) -> list[tuple[str, str, str, Any]]:
    told = [(one.rpc, one.verb, one.path, one.body) for one in mutations]
    return [*told, *((rpc, "POST", path, body) for rpc, path, body in REST_OF_THEM)]


async def _seen(desk: Desk) -> list[Any]:
    """All that a mutation of the tables could have changed."""
    return [await one.seen(desk) for one in MUTATIONS if one.rpc not in ("CreateSession", "AnswerGate")]


async def test_i9_another_tenant_reads_nothing_and_changes_nothing_by_any_route(stack: Stack, desk: Desk) -> None:
    before = await _seen(desk)
    for admin in (
        _of(stack, "umbra", "ann", "admin"),
        _of(stack, "umbra", desk.session, "agent", kind="agent"),
        _of(stack, "umbra", desk.names["worker"], "agent", kind="agent"),
    ):
        async with admin as http:
            for route in READS:
                status, body = await _read(http, _path(route, desk))
                assert status in (200, 403, 404), (route.method.name, status, body)
                assert SAID not in body, (route.method.name, body)
            for rpc, verb, path, body in _every(MUTATIONS):
                answer = await _try(http, desk, verb, path, body)
                assert answer.status_code in (200, 403, 404, 409), (rpc, answer.text)
                assert SAID not in answer.text, (rpc, answer.text)
    assert await _seen(desk) == before


async def test_i9_a_viewer_reads_everything_and_changes_nothing_by_any_route(stack: Stack, desk: Desk) -> None:
    before = await _seen(desk)
    async with _of(stack, "acme", "vic", "viewer") as viewer, _of(stack, "acme", "nobody") as nobody:
        for route in READS:
            status, body = await _read(viewer, _path(route, desk))
            assert status == 200 or (status, route.method.name) in (
                (404, "GetInjection"),
                (404, "GetPlanContext"),
                (404, "GetBranch"),
            ), (route.method.name, status, body)
            status, body = await _read(nobody, _path(route, desk))
            assert (status, SAID in body) == (403, False), (route.method.name, status, body)
        for rpc, verb, path, body in _every(MUTATIONS):
            for http in (viewer, nobody):
                answer = await _try(http, desk, verb, path, body)
                assert (answer.status_code, answer.json()["reason"]) == (403, "ROLE_REQUIRED"), (rpc, answer.text)
    assert await _seen(desk) == before


async def test_i9_an_agent_of_another_session_reads_nothing_and_changes_nothing_by_any_route(
    stack: Stack, desk: Desk
) -> None:
    before = await _seen(desk)
    async with _of(stack, "acme", "ann", "reviewer") as ann:
        other = await open_desk(ann)
    for subject in (other.session, desk.names["worker"], desk.names["branch"]):
        async with _of(stack, "acme", subject, "agent", kind="agent") as agent:
            for route in READS:
                status, body = await _read(agent, _path(route, desk))
                if route.method.name in OF_NOBODY:
                    assert status in (200, 403), (route.method.name, body)
                else:
                    assert (status, SAID in body) == (403, False), (route.method.name, status, body)
            for rpc, verb, path, body in _every(MUTATIONS):
                answer = await _try(agent, desk, verb, path, body)
                assert answer.status_code == 403, (rpc, answer.text)
                assert answer.json()["reason"] in ("NOT_YOURS", "ROLE_REQUIRED"), (rpc, answer.text)
    assert await _seen(desk) == before


async def test_i9_its_own_agent_has_no_part_in_what_is_for_people(stack: Stack, desk: Desk) -> None:
    people = {"SetThreadMode", "RegisterWorker", "ReorderSteps", "LockDocument", "BranchSession", "CherryPick"}
    people |= {"AnswerGate", "MintAgentToken", "BatchDeleteSessions"}
    async with _of(stack, "acme", desk.session, "agent", kind="agent") as agent:
        for rpc, verb, path, body in _every(MUTATIONS):
            if rpc in people:
                answer = await _try(agent, desk, verb, path, body)
                assert (answer.status_code, answer.json()["reason"]) == (403, "ROLE_REQUIRED"), (rpc, answer.text)


async def test_an_expired_token_opens_nothing(stack: Stack, desk: Desk) -> None:
    before = await _seen(desk)
    async with _of(stack, "acme", "ann", "reviewer", minutes=-1) as late:
        for route in READS:
            status, body = await _read(late, _path(route, desk))
            assert (status, SAID in body) == (401, False), (route.method.name, body)
        for rpc, verb, path, body in _every(MUTATIONS):
            answer = await _try(late, desk, verb, path, body)
            assert (answer.status_code, answer.json()["reason"]) == (401, "TOKEN_EXPIRED"), rpc
    assert await _seen(desk) == before
