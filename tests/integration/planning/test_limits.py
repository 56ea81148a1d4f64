"""PUB21, PUB22: every text of planning at its limit and over it, what cannot be stored, and caps under concurrency."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from services.kernel.errors import Refusal
from services.kernel.ids import new_id
from services.kernel.postgres import Database
from tests.integration.planning.client import Planning, refused, texts
from tests.integration.planning.conftest import StartReplica
from tests.integration.planning.test_branches import counts, delete
from tests.integration.planning.test_snapshots import end
from treadle.planning.v1 import planning_service_pb2 as pb

LETTERS = ("a", "é", "\N{GRINNING FACE}", "\N{MAN}\N{ZERO WIDTH JOINER}\N{WOMAN}", "\u0fd0")
Write = Callable[[Planning, str, str], Awaitable[str]]


async def _add(planning: Planning, chat: str, text: str) -> str:
    return (await planning.add(chat, text)).steps[-1].text


async def _edit(planning: Planning, chat: str, text: str) -> str:
    await planning.add(chat, "to be edited")
    return (await planning.edit(chat, 1, text)).steps[0].text


async def _aim(planning: Planning, chat: str, text: str) -> str:
    return (await planning.aim(chat, text)).text


async def _document(planning: Planning, chat: str, text: str) -> str:
    return (await planning.put(chat, "notes", text)).content


WRITES: dict[str, tuple[Write, int, str]] = {
    "objective": (_aim, 500, "text"),
    "step": (_add, 500, "items[0]"),
    "edit": (_edit, 500, "edits[0].text"),
}


@pytest.mark.parametrize("letters", LETTERS)
@pytest.mark.parametrize("name", WRITES)
async def test_pub21_at_the_limit_it_is_kept_byte_by_byte_and_above_it_is_refused(
    planning: Planning, chat: str, name: str, letters: str
) -> None:
    write, most, field = WRITES[name]
    text = (letters * most)[:most]
    assert len(text) == most
    assert await write(planning, chat, text) == text
    kept = await planning.restore(chat, 0)
    assert text in (kept.objective, *texts(kept.plan))
    async with refused("INVALID_ARGUMENT") as caught:
        await write(planning, chat, text + "x")
    assert caught.value.metadata == {"field": field, "limit": str(most)}
    assert str(most) in str(caught.value)
    assert (await planning.restore(chat, 0)).objective == kept.objective
    assert text in (kept.objective, *texts(await planning.plan(chat)))


async def test_pub21_a_branchs_title_at_its_limit(planning: Planning, chat: str, database: Database) -> None:
    await planning.begin(chat, 1)
    await end(database, chat)
    for letter in ("a", "é", "\N{GRINNING FACE}"):
        await planning.branch(chat, 0, title=letter * 200)
        async with refused("INVALID_ARGUMENT") as caught:
            await planning.branch(chat, 0, title=letter * 201)
        assert caught.value.metadata == {"field": "title", "limit": "200"}


@pytest.mark.parametrize("letter", ["a", "é", "\N{GRINNING FACE}"])
async def test_pub21_a_documents_limit_is_in_bytes_and_says_so(planning: Planning, chat: str, letter: str) -> None:
    most = 256 * 1024
    text = letter * (most // len(letter.encode()))
    made = await planning.put(chat, "notes", text)
    assert (made.content, made.size) == (text, most)
    async with refused("VALUE_TOO_LARGE") as caught:
        await planning.put(chat, "notes", text + "x")
    assert caught.value.metadata == {"field": "content", "limit": str(most)}
    assert "bytes" in str(caught.value)
    [kept] = (await planning.restore(chat, 0)).documents
    assert (kept.content, kept.sha256) == (text, made.sha256)


@pytest.mark.parametrize("blank", ["", " ", "\t\n\r\x0b\x0c", "\x1c\x1d\x1e\x1f", "\x85\xa0\u2003\u2028\u3000"])
async def test_pub21_blank_is_no_step_and_no_objective(planning: Planning, chat: str, blank: str) -> None:
    await planning.aim(chat, "goal")
    assert (await planning.aim(chat, blank)).text == ""
    for write in (_add, _edit):
        async with refused("INVALID_ARGUMENT"):
            await write(planning, chat, blank)
    assert await _document(planning, chat, blank) == blank


@pytest.mark.parametrize("text", ["\ufffe\uffff", "\u200d", "\u202ex", "a\u2028b", "\x7f", "\U0010ffff", "e\u0301"])
async def test_pub22_odd_text_is_kept_as_it_is(planning: Planning, chat: str, text: str) -> None:
    """All of it can be stored and sent; who shows it makes it harmless."""
    assert await _add(planning, chat, text) == text
    assert await _document(planning, chat, text) == text
    await planning.begin(chat, 1)
    assert texts((await planning.restore(chat, 0)).plan) == [text]
    assert (await planning.agent(chat).compose(chat)).text
    branch = (await planning.branch(chat, 0)).session_id
    assert texts(await planning.plan(branch)) == [text]


async def test_pub22_nul_is_refused_by_its_field_wherever_there_is_text(planning: Planning, chat: str) -> None:
    await planning.add(chat, "fine")
    await planning.begin(chat, 1)
    before = (await planning.plan(chat), (await planning.objective(chat)).text)
    name = f"sessions/{chat}"
    calls: dict[str, tuple[str, Any]] = {
        "text": ("SetObjective", pb.SetObjectiveRequest(name=name, text="x\0")),
        "items[1]": ("AddTodos", pb.AddTodosRequest(name=name, items=["fine", "\0"])),
        "edits[0].text": ("EditTodos", pb.EditTodosRequest(name=name, edits=[pb.TodoEdit(index=1, text="x\0y")])),
        "content": ("PutDocument", pb.PutDocumentRequest(name=f"{name}/documents/k", content="\0")),
        "title": ("BranchSession", pb.BranchSessionRequest(name=name, turn=0, title="x\0")),
        "step_ids": ("ReorderSteps", pb.ReorderStepsRequest(name=f"sessions/{await planning.open()}", step_ids=["\0"])),
        "origin_ids[0]": (
            "CherryPick",
            pb.CherryPickRequest(name=name, source=await planning.open(), origin_ids=["\0"]),
        ),
        "source": ("CherryPick", pb.CherryPickRequest(name=name, source="ses_\0", origin_ids=["x"])),
        "other": ("DiffBranches", pb.DiffBranchesRequest(name=name, other="\0")),
        "name": ("PutDocument", pb.PutDocumentRequest(name=f"{name}/documents/k\0", content="x")),
        "turn_id": ("GetPlanContext", pb.GetPlanContextRequest(name=name, turn_id="\0")),
        "request_id": ("SetObjective", pb.SetObjectiveRequest(name=name, text="x", request_id="\0")),
        "page_token": ("ListTurns", pb.ListTurnsRequest(parent=name, page_token="\0")),
    }
    for field, (method, request) in calls.items():
        with pytest.raises(Refusal) as caught:
            await planning.call(method, request)
        assert caught.value.metadata["field"] == field
    for method, request in (
        ("AddTodos", pb.AddTodosRequest(name=name, items=["x"], turn_id="\0")),
        ("PutDocument", pb.PutDocumentRequest(name=f"{name}/documents/k", content="x", turn_id="\0")),
    ):
        async with refused("TURN_ENDED"):  # no turn of that id is under way
            await planning.call(method, request)
    async with refused("ETAG_MISMATCH"):
        await planning.call("SetObjective", pb.SetObjectiveRequest(name=name, text="x", etag="\0"))
    assert (await planning.plan(chat), (await planning.objective(chat)).text) == before


async def _at_once(calls: list[Awaitable[object]]) -> list[str]:
    """Reasons of those that were refused."""
    done = await asyncio.gather(*calls, return_exceptions=True)
    for one in done:
        if isinstance(one, BaseException) and not isinstance(one, Refusal):
            raise one
    return [one.reason for one in done if isinstance(one, Refusal)]


async def test_pub21_the_caps_are_exact_whoever_comes_at_once(start_replica: StartReplica) -> None:
    one, other = await start_replica(), await start_replica()
    chat = await one.open()
    for _ in range(3):
        await one.add(chat, *["s"] * 50)
    await one.add(chat, *["s"] * 46)
    for at in range(46):
        await one.put(chat, f"d{at}", "x")
    both = [one, other] * 4
    assert await _at_once([who.add(chat, f"n{at}") for at, who in enumerate(both)]) == ["TOO_MANY_STEPS"] * 4
    assert await _at_once([who.put(chat, f"n{at}", "x") for at, who in enumerate(both)]) == ["TOO_MANY_DOCUMENTS"] * 4
    assert len((await one.plan(chat)).steps) == 200
    assert len((await one.restore(chat, 0)).documents) == 50


async def test_pub21_the_bytes_of_documents_are_capped_whoever_comes_at_once(start_replica: StartReplica) -> None:
    one, other = await start_replica(), await start_replica()
    chat = await one.open()
    for at in range(6):
        await one.put(chat, f"d{at}", "x" * 256 * 1024)
    calls: list[Awaitable[object]] = [
        who.put(chat, f"n{at}", "x" * 256 * 1024) for at, who in enumerate([one, other] * 3)
    ]
    assert await _at_once(calls) == ["DOCUMENTS_TOO_LARGE"] * 4
    assert sum(one.size for one in (await one.restore(chat, 0)).documents) == 2 * 1024 * 1024


async def test_pub21_branches_are_capped_whichever_sessions_they_are_made_of(
    start_replica: StartReplica, database: Database
) -> None:
    one, other = await start_replica(), await start_replica()
    chat = await one.open()
    await one.begin(chat, 1)
    await end(database, chat)
    made = [chat, *[(await one.branch(chat, 0)).session_id for _ in range(7)]]
    async with database.connection() as tx:
        for _ in range(200 - len(made) - 3):  # like branches, for the count
            await tx.raw.execute(
                "INSERT INTO workspaces (tenant, session_id, family, making, created_at, updated_at)"
                " VALUES ('acme', $1, $2, 'ready', now(), now())",
                new_id("ses"),
                chat,
            )
    calls: list[Awaitable[object]] = [
        (one, other)[at % 2].branch(session, 0, fork=True) for at, session in enumerate(made)
    ]
    assert await _at_once(calls) == ["TOO_MANY_BRANCHES"] * 5
    assert (await counts(database))["workspaces"] == 200
    await delete(made[1], database)
    assert (await one.branch(chat, 0)).forked
