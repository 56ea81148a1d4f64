"""Scratch notes over gRPC (A4, A9-15..17, PUB21, PUB22)."""

from __future__ import annotations

import asyncio

import pytest
from grpc import StatusCode

from services.coordination.adapters.work import PostgresWorkshop
from services.coordination.domain.worker import Reason
from services.kernel.postgres import Database
from tests.integration.coordination.client import PERSON, VIEWER, Coordination, agent, refused, spec
from tests.integration.coordination.conftest import StartReplica
from tests.integration.coordination.runs import ended

GRIN = "\U0001f600"
FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"


async def test_notes_stand_on_their_own_list(coordination: Coordination, chat: str) -> None:
    await coordination.spawn(chat, spec("alpha"), spec("beta"))
    noted = await coordination.note(chat, "  for me \n", by=agent(chat))
    assert (noted.ok, noted.note_count, noted.note.text, noted.note.sequence) == (True, 1, "for me", 1)
    assert noted.note.by == f"agent:{chat}"
    assert not noted.HasField("evicted_note")
    assert (await coordination.note(chat, "for alpha", name="alpha")).note_count == 1
    roster = await coordination.roster(chat)
    assert list(roster.notes) == ["for me"]
    assert [list(one.notes) for one in roster.threads] == [["for alpha"], []]
    assert [one.text for one in (await coordination.notes(chat, "alpha", by=VIEWER)).notes] == ["for alpha"]
    assert [one.by for one in (await coordination.notes(chat)).notes] == [f"agent:{chat}"]


async def test_a9_15_sixty_notes_leave_the_newest_fifty_and_each_drop_is_told(
    coordination: Coordination, chat: str
) -> None:
    dropped = []
    for number in range(1, 61):
        noted = await coordination.note(chat, f"n{number}")
        assert noted.note_count == min(number, 50)
        dropped += [noted.evicted_note.text] if noted.HasField("evicted_note") else []
    assert dropped == [f"n{number}" for number in range(1, 11)]
    page = await coordination.notes(chat)
    assert [one.text for one in page.notes] == [f"n{number}" for number in range(11, 61)]
    assert [one.sequence for one in page.notes] == list(range(11, 61))
    assert not page.next_page_token
    first = await coordination.notes(chat, page_size=20)
    rest = await coordination.notes(chat, page_size=40, page_token=first.next_page_token)
    assert [one.sequence for one in (*first.notes, *rest.notes)] == list(range(11, 61))


@pytest.mark.parametrize("text", ["x" * 2_000, GRIN * 2_000, FAMILY * 285])
async def test_pub21_a_note_at_the_limit_comes_back_as_it_was(coordination: Coordination, chat: str, text: str) -> None:
    assert (await coordination.note(chat, text)).note.text == text
    assert [one.text for one in (await coordination.notes(chat)).notes] == [text]


@pytest.mark.parametrize("text", ["x" * 2_001, GRIN * 2_001, FAMILY * 2_000, "x" * 3_000])
async def test_pub21_a9_15_a_note_over_the_limit_is_refused_and_never_cut(
    coordination: Coordination, chat: str, text: str
) -> None:
    async with refused(StatusCode.INVALID_ARGUMENT, "INVALID_ARGUMENT", field="note", limit="2000") as answer:
        await coordination.note(chat, text)
    assert "2000" in answer.message
    assert not (await coordination.notes(chat)).notes


@pytest.mark.parametrize("text", ["", "   ", "\n\t", "nul\0"])
async def test_a9_15_pub22_blank_notes_and_nul_are_refused(coordination: Coordination, chat: str, text: str) -> None:
    async with refused(StatusCode.INVALID_ARGUMENT, "INVALID_ARGUMENT", field="note"):
        await coordination.note(chat, text)


async def test_pub21_two_fiftieth_notes_at_once_make_fifty_one_and_one_is_told_of_the_drop(
    start_replica: StartReplica, coordination: Coordination, chat: str, rounds: int
) -> None:
    other = await start_replica()
    for _ in range(49):
        await coordination.note(chat, "first ones")
    for number in range(rounds):
        both = await asyncio.gather(coordination.note(chat, f"a{number}"), other.note(chat, f"b{number}"))
        counts = sorted((one.note_count, one.HasField("evicted_note")) for one in both)
        assert counts == ([(50, False), (50, True)] if number == 0 else [(50, True), (50, True)])
        page = await coordination.notes(chat)
        assert len(page.notes) == 50
        assert {one.text for one in page.notes[-2:]} == {f"a{number}", f"b{number}"}
        numbers = [one.sequence for one in page.notes]
        assert numbers == list(range(numbers[0], numbers[0] + 50))


async def test_a9_16_a_worker_notes_on_its_own_thread_and_makes_no_coordinator(
    coordination: Coordination, chat: str, database: Database
) -> None:
    await coordination.spawn(chat, spec("alpha"), spec("beta"))
    async with database.connection() as tx:
        session: str = await tx.raw.fetchval("SELECT session_id FROM workers WHERE name = 'alpha'")
    assert (await coordination.note(session, "one", by=agent(session))).note_count == 1
    assert (await coordination.note(session, "two", name="alpha", by=agent(session))).note_count == 2
    for name in ("beta", "gamma"):
        async with refused(StatusCode.PERMISSION_DENIED, "NOT_YOURS"):
            await coordination.note(session, "three", name=name, by=agent(session))
    async with refused(StatusCode.PERMISSION_DENIED, "NOT_YOURS"):
        await coordination.note(chat, "three", by=agent(session))
    assert list((await coordination.worker(chat, "alpha")).notes) == ["one", "two"]
    assert not list((await coordination.worker(chat, "beta")).notes)
    assert [one.text for one in (await coordination.notes(session, by=agent(session))).notes] == ["one", "two"]
    async with refused(StatusCode.NOT_FOUND, "COORDINATOR_NOT_FOUND"):
        await coordination.roster(session)


async def test_a9_17_a_registered_worker_is_still_one_after_noting(coordination: Coordination, chat: str) -> None:
    await coordination.register(chat, "alpha", "ses_w")
    await coordination.note("ses_w", "noted", by=agent("ses_w"))
    assert (await coordination.workers("ses_w", by=agent("ses_w"))).assignment.name == "alpha"
    async with refused(StatusCode.NOT_FOUND, "COORDINATOR_NOT_FOUND"):
        await coordination.roster("ses_w")


async def test_a_session_without_a_record_notes_nothing(coordination: Coordination) -> None:
    async with refused(StatusCode.NOT_FOUND, "COORDINATOR_NOT_FOUND"):
        await coordination.note("ses_a", "x")
    async with refused(StatusCode.NOT_FOUND, "COORDINATOR_NOT_FOUND"):
        await coordination.notes("ses_a")


async def test_a_thread_that_is_not_there_is_not_found(coordination: Coordination, chat: str) -> None:
    async with refused(StatusCode.NOT_FOUND, "WORKER_NOT_FOUND", thread_name="alpha"):
        await coordination.note(chat, "x", name="alpha")
    async with refused(StatusCode.NOT_FOUND, "WORKER_NOT_FOUND", thread_name="alpha"):
        await coordination.notes(chat, "alpha")
    async with refused(StatusCode.INVALID_ARGUMENT, "INVALID_NAME", field="thread_name"):
        await coordination.note(chat, "x", name="Alpha\n")


async def test_a_replaced_name_keeps_its_notes_and_their_numbers(
    coordination: Coordination, chat: str, workshop: PostgresWorkshop
) -> None:
    await coordination.spawn(chat, spec("alpha"))
    await coordination.note(chat, "kept", name="alpha")
    await ended(workshop, chat, "alpha", Reason.LAUNCH_FAILED)
    await coordination.note(chat, "after the end", name="alpha")
    (one,) = await coordination.spawn(chat, spec("alpha", "again"))
    assert one.ok
    noted = await coordination.note(chat, "new", name="alpha")
    assert (noted.note_count, noted.note.sequence) == (3, 3)
    worker = await coordination.worker(chat, "alpha")
    assert (worker.brief, list(worker.notes)) == ("again", ["kept", "after the end", "new"])


async def test_the_same_request_is_noted_once(coordination: Coordination, chat: str) -> None:
    for _ in range(49):
        await coordination.note(chat, GRIN * 2_000)
    first = await coordination.note(chat, GRIN * 2_000, request_id="r1")
    last = await coordination.note(chat, GRIN * 2_000, request_id="r2")
    assert last.HasField("evicted_note")
    assert await coordination.note(chat, GRIN * 2_000, request_id="r1") == first
    assert await coordination.note(chat, GRIN * 2_000, request_id="r2") == last
    assert (await coordination.notes(chat)).notes[-1].sequence == 51
    async with refused(StatusCode.ALREADY_EXISTS, "REQUEST_ID_REUSED"):
        await coordination.note(chat, "other", request_id="r1")
    assert (await coordination.note(chat, "other", request_id="r1", by=agent(chat))).note_count == 50


async def test_notes_are_taken_while_thread_mode_is_off(coordination: Coordination, chat: str) -> None:
    await coordination.spawn(chat, spec("alpha"))
    await coordination.flag(chat, enabled=False)
    await coordination.note(chat, "x", name="alpha")
    await coordination.note(chat, "y")
    assert not (await coordination.roster(chat)).enabled


async def test_a_viewer_writes_none(coordination: Coordination, chat: str) -> None:
    async with refused(StatusCode.PERMISSION_DENIED, "ROLE_REQUIRED"):
        await coordination.note(chat, "x", by=VIEWER)
    assert (await coordination.note(chat, "x", by=PERSON)).note.by == "user:ann"
