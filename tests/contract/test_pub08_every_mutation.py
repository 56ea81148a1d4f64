"""PUB08, for every RPC that changes something: at once, late, and with another body, one key takes effect once."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import httpx
import pytest

from gateway.contexts import services
from gateway.transcode.http_rules import routes_of
from tests.contract.mutations import COORDINATION, PLANNING, SESSIONS, Desk, Mutation, filled, open_desk
from tests.stack import Stack, running_stack

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]
AT_ONCE = 20
EVERY = [*COORDINATION, *PLANNING, *SESSIONS]
KEYLESS_BY_DESIGN = {
    "MintAgentToken",  # every call mints one of its own, and none is stored
    "SteerSession",  # words to an agent at work: looked at beside its turns (tests/integration/streaming)
    "ResumeSession",  # joins whoever is resuming; looked at beside its generations (tests/integration/streaming)
    "BatchDeleteSessions",  # its second answer is `not_found`, its repeat the first; tests/integration/streaming
}


@pytest.fixture(scope="module")
async def stack(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stack]:
    """One Treadle for the tests of this file."""
    async with running_stack(tmp_path_factory.mktemp("keys")) as running:
        yield running


@pytest.fixture
async def desk(stack: Stack) -> AsyncIterator[Desk]:
    """A session of the test's own."""
    async with stack.client(120) as http:
        yield await open_desk(http)


async def _call(desk: Desk, mutation: Mutation, body: dict[str, Any], key: str) -> httpx.Response:
    names = {"s": desk.session, **desk.names}
    path = f"/api{mutation.path.format(**names)}"
    return await desk.http.request(
        mutation.verb, path, json=filled(body, names) if mutation.has_body else None, headers={"idempotency-key": key}
    )


def test_every_rpc_that_takes_a_key_is_in_the_table() -> None:
    takes = {
        route.method.name
        for route in routes_of(services())
        if route.context != "threads" and "request_id" in route.request.fields_by_name
    }
    assert takes - KEYLESS_BY_DESIGN == {mutation.rpc for mutation in EVERY}


@pytest.mark.parametrize("mutation", EVERY, ids=lambda mutation: mutation.rpc)
async def test_pub08_twenty_at_once_under_one_key_are_one_and_another_body_is_refused(
    desk: Desk, mutation: Mutation
) -> None:
    if mutation.before is not None:
        await mutation.before(desk)
    if mutation.rpc == "CreateSession":
        mutation = _created(mutation, desk)
    before = await mutation.seen(desk)
    assert before != mutation.after
    key = uuid.uuid4().hex
    answers = await asyncio.gather(*(_call(desk, mutation, mutation.body, key) for _ in range(AT_ONCE)))
    assert {answer.status_code for answer in answers} == {200}, next(
        answer.text for answer in answers if answer.status_code != 200
    )
    first = mutation.same(answers[0].json())
    assert all(mutation.same(answer.json()) == first for answer in answers)
    assert await _in_the_end(mutation, desk) == mutation.after

    if mutation.other != mutation.body:
        refused = await _call(desk, mutation, mutation.other, key)
        assert (refused.status_code, refused.json()["reason"]) == (409, "REQUEST_ID_REUSED"), refused.text
        assert refused.json()["metadata"]["field"] == "request_id"
    late = await _call(desk, mutation, mutation.body, key)
    assert late.status_code == 200, late.text
    assert mutation.same(late.json()) == first
    assert await mutation.seen(desk) == mutation.after

    # The same key of the same person for another session: what it asks for there, or a refusal that says why.
    if mutation.rpc == "CreateSession":
        return
    other = await open_desk(desk.http)
    if mutation.before is not None:
        await mutation.before(other)
    untouched = await mutation.seen(other)
    elsewhere = await _call(other, mutation, mutation.body, key)
    if mutation.keyed_by_session:
        assert elsewhere.status_code == 200, elsewhere.text
        assert await _in_the_end(mutation, other) == mutation.after
    else:
        assert (elsewhere.status_code, elsewhere.json()["reason"]) == (409, "REQUEST_ID_REUSED"), elsewhere.text
        assert await mutation.seen(other) == untouched
    assert await mutation.seen(desk) == mutation.after


@pytest.mark.parametrize("mutation", EVERY, ids=lambda mutation: mutation.rpc)
@pytest.mark.parametrize("key", ["a b", "x" * 129, "ü", "a/b"])
async def test_pub08_a_malformed_key_in_the_body_is_refused_by_name_and_changes_nothing(
    desk: Desk, mutation: Mutation, key: str
) -> None:
    if mutation.before is not None:
        await mutation.before(desk)
    names = {"s": desk.session, **desk.names}
    before = await mutation.seen(desk)
    told: dict[str, Any] = {
        "json" if mutation.has_body else "params": {**filled(mutation.body, names), "request_id": key}
    }
    refused = await desk.http.request(mutation.verb, f"/api{mutation.path.format(**names)}", **told)
    assert refused.status_code == 400, refused.text
    assert refused.json()["metadata"]["field"] == "request_id"
    assert await mutation.seen(desk) == before


async def _in_the_end(mutation: Mutation, desk: Desk) -> Any:
    """What is seen, once it is what it should be; what it is after a while, if it never is."""
    seen: Any = None
    for _ in range(600):
        if (seen := await mutation.seen(desk)) == mutation.after:
            return seen
        await asyncio.sleep(0.1)
    return seen


def _created(mutation: Mutation, desk: Desk) -> Mutation:
    """Seen by the title, which only this test's session has."""

    async def seen(at: Desk) -> int:
        titles = [one["title"] for one in (await at.ask("GET", "/sessions?page_size=200"))["sessions"]]
        return titles.count(f"made for {desk.session}")

    return replace(mutation, seen=seen, after=1, same=lambda one: one["id"])
