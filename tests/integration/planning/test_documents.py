"""Documents over a real channel: written, locked, limited, kept with turns."""

from __future__ import annotations

import pytest

from services.kernel.ids import new_id
from services.kernel.postgres import Database
from tests.integration.planning.client import Planning, refused, state, token
from tests.integration.planning.test_branches import counts
from tests.integration.planning.test_snapshots import end
from treadle.planning.v1 import planning_service_pb2 as pb


async def read(planning: Planning, chat: str, key: str) -> pb.Document:
    """A document."""
    answer: pb.Document = await planning.call(
        "GetDocument", pb.GetDocumentRequest(name=f"sessions/{chat}/documents/{key}")
    )
    return answer


async def listed(planning: Planning, chat: str) -> list[pb.Document]:
    """All of them."""
    answer = await planning.call("ListDocuments", pb.ListDocumentsRequest(parent=f"sessions/{chat}"))
    return list(answer.documents)


async def test_a_document_is_written_and_read_byte_by_byte(planning: Planning, chat: str) -> None:
    text = "a\r\n b\u2028\N{GRINNING FACE} "
    made = await planning.put(chat, "notes.md", text)
    assert (made.content, made.version, made.updated_by, made.locked) == (text, 1, "user", False)
    assert made.size == len(text.encode())
    assert await read(planning, chat, "notes.md") == made
    again = await planning.put(chat, "notes.md", "", etag=made.etag)
    assert (again.content, again.version) == ("", 2)
    async with refused("ETAG_MISMATCH"):
        await planning.put(chat, "notes.md", "x", etag=made.etag)
    async with refused("DOCUMENT_NOT_FOUND"):
        await read(planning, chat, "other")
    assert [(one.key, one.content, one.sha256) for one in await listed(planning, chat)] == [
        ("notes.md", "", again.sha256)
    ]


async def test_c8_23_a_lock_is_a_persons_and_binds_agents(planning: Planning, chat: str) -> None:
    await planning.put(chat, "spec", "v1")
    await planning.begin(chat, 1)
    agent = planning.agent(chat)
    assert (await agent.put(chat, "spec", "v2")).updated_by == "agent"
    assert (await planning.lock(chat, "spec")).locked
    async with refused("DOCUMENT_LOCKED") as caught:
        await agent.put(chat, "spec", "v3")
    assert caught.value.metadata == {"key": "spec"}
    async with refused("ROLE_REQUIRED"):
        await agent.lock(chat, "spec", False)
    assert (await planning.put(chat, "spec", "by a person")).locked
    branch = await planning.branch(chat, 0)
    assert (await read(planning, branch.session_id, "spec")).locked is False
    await planning.begin(chat, 2)
    branch = await planning.branch(chat, 1)
    assert (await read(planning, branch.session_id, "spec")).locked is True
    await planning.begin(branch.session_id, 2)
    async with refused("DOCUMENT_LOCKED"):
        await planning.agent(branch.session_id).put(branch.session_id, "spec", "x")


async def test_limits_are_told(planning: Planning, chat: str) -> None:
    async with refused("VALUE_TOO_LARGE") as caught:
        await planning.put(chat, "big", "x" * (256 * 1024 + 1))
    assert caught.value.metadata == {"field": "content", "limit": "262144"}
    for at in range(8):
        await planning.put(chat, f"big{at}", "\N{GRINNING FACE}" * (64 * 1024))
    async with refused("DOCUMENTS_TOO_LARGE"):
        await planning.put(chat, "one-more", "x")
    await planning.put(chat, "big0", "small")
    await planning.put(chat, "one-more", "x")
    assert len((await planning.restore(chat, 0)).documents) == 9


async def test_there_may_be_fifty(planning: Planning, chat: str) -> None:
    for at in range(50):
        await planning.put(chat, f"d{at}", "x")
    async with refused("TOO_MANY_DOCUMENTS"):
        await planning.put(chat, "d50", "x")
    await planning.put(chat, "d49", "y")


@pytest.mark.parametrize("key", ["", "a b", "a/b", "a\n", "\na", "x" * 65, "ä", "w\uff11", ".", "..", "a\0"])
async def test_pub21_keys_are_one_word(planning: Planning, chat: str, key: str) -> None:
    async with refused("INVALID_NAME"):
        await planning.put(chat, key, "x")
    async with refused("INVALID_NAME"):
        await planning.drop(chat, key)


async def test_pub21_keys_that_pass(planning: Planning, chat: str) -> None:
    for key in ("x" * 64, "a_b-c", "W1", "-a", "...", "0"):
        assert (await planning.put(chat, key, "x")).key == key
        await planning.drop(chat, key)


async def test_a_lock_that_is_as_it_was_tells_nobody(planning: Planning, chat: str, database: Database) -> None:
    await planning.put(chat, "notes", "x")
    locked = await planning.lock(chat, "notes")
    async with database.connection() as tx:
        told: int = await tx.raw.fetchval("SELECT count(*) FROM outbox")
        assert await planning.lock(chat, "notes") == locked
        assert await tx.raw.fetchval("SELECT count(*) FROM outbox") == told


async def test_a_repeat_writes_once(planning: Planning, chat: str) -> None:
    await planning.put(chat, "a", "one", request_id="r1")
    await planning.put(chat, "a", "two")
    assert (await planning.put(chat, "a", "one", request_id="r1")).content == "two"


async def test_a_document_that_is_deleted_is_gone_and_an_earlier_turn_brings_it_back(
    planning: Planning, chat: str, database: Database
) -> None:
    for key in ("a", "b", "c"):
        await planning.put(chat, key, f"text of {key}")
    await planning.lock(chat, "b")
    await planning.begin(chat, 1)
    await end(database, chat)
    kept = state(await planning.restore(chat, 0))
    await planning.drop(chat, "b")  # a person may, as a person may write it
    assert [one.key for one in await listed(planning, chat)] == ["a", "c"]
    for call in (read(planning, chat, "b"), planning.lock(chat, "b"), planning.drop(chat, "b")):
        async with refused("DOCUMENT_NOT_FOUND"):
            await call
    assert state(await planning.restore(chat, 0)) == kept
    branch = (await planning.branch(chat, 0)).session_id
    assert [(one.key, one.locked) for one in await listed(planning, branch)] == [
        ("a", False),
        ("b", True),
        ("c", False),
    ]
    assert (await read(planning, branch, "b")).content == "text of b"
    await planning.drop(branch, "a")
    assert [one.key for one in await listed(planning, chat)] == ["a", "c"]
    await planning.put(chat, "d", "later")
    await planning.begin(chat, 2)
    assert state(await planning.restore(chat, 1))[2] == [
        ("a", "text of a", False),
        ("c", "text of c", False),
        ("d", "later", False),
    ]


async def test_agents_delete_what_is_not_locked_in_their_turn_alone(
    planning: Planning, chat: str, database: Database
) -> None:
    for key in ("free", "locked"):
        await planning.put(chat, key, "text")
    await planning.lock(chat, "locked")
    agent = planning.agent(chat)
    async with refused("TURN_ENDED"):
        await agent.drop(chat, "free")
    turn_id = await planning.begin(chat, 1)
    async with refused("DOCUMENT_LOCKED") as caught:
        await agent.drop(chat, "locked")
    assert caught.value.metadata == {"key": "locked"}
    await agent.drop(chat, "free", turn_id=turn_id)
    other = await planning.open()
    await planning.begin(other, 1)
    async with refused("NOT_YOURS"):
        await planning.agent(other).drop(chat, "locked")
    async with refused("ROLE_REQUIRED"):
        await planning.by(token("v", "user", "viewer")).drop(chat, "locked")
    async with refused("SESSION_NOT_FOUND"):
        await planning.by(token(tenant="umbrella")).drop(chat, "locked")
    await end(database, chat)
    async with refused("TURN_ENDED"):
        await planning.drop(chat, "locked", turn_id=turn_id)
    assert [one.key for one in await listed(planning, chat)] == ["locked"]


async def test_an_etag_tells_a_document_from_one_that_was_made_anew(planning: Planning, chat: str) -> None:
    first = await planning.put(chat, "notes", "one")
    await planning.drop(chat, "notes", etag=first.etag)
    second = await planning.put(chat, "notes", "two", etag="0")
    assert second.version == first.version
    for call in (
        planning.put(chat, "notes", "three", etag=first.etag),
        planning.put(chat, "notes", "three", etag="0"),
        planning.drop(chat, "notes", etag=first.etag),
        planning.put(chat, "other", "x", etag=first.etag),
    ):
        async with refused("ETAG_MISMATCH"):
            await call
    assert (await read(planning, chat, "notes")).content == "two"
    await planning.drop(chat, "notes", etag=second.etag.strip('"'))  # as If-Match comes


async def test_a_document_is_deleted_once(planning: Planning, chat: str) -> None:
    await planning.put(chat, "notes", "one")
    request_id = new_id("req")
    await planning.drop(chat, "notes", request_id=request_id)
    await planning.put(chat, "notes", "two")
    await planning.drop(chat, "notes", request_id=request_id)
    assert (await read(planning, chat, "notes")).content == "two"
    async with refused("REQUEST_ID_REUSED"):
        await planning.drop(chat, "notes", request_id=request_id, etag="0")


async def test_what_was_deleted_makes_room(planning: Planning, chat: str, database: Database) -> None:
    for at in range(50):
        await planning.put(chat, f"d{at}", "x")
    before = await counts(database)
    for at in (0, 17, 49):
        await planning.drop(chat, f"d{at}")
        await planning.put(chat, f"again{at}", "x")
    assert await counts(database) == before
    async with refused("TOO_MANY_DOCUMENTS"):
        await planning.put(chat, "d0", "x")
