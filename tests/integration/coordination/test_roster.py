"""The roster: what everybody may see, in pages that always fit (A9-23, PUB23, PUB24)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from google.protobuf.json_format import MessageToJson
from google.protobuf.timestamp_pb2 import Timestamp
from grpc import StatusCode

from services.coordination.adapters.work import PostgresWorkshop
from services.coordination.application.work import Note, Report
from services.coordination.domain.result_section import result_section
from services.coordination.domain.worker import Kind, Reason, Status
from services.kernel.postgres import Database
from tests.integration.coordination.client import VIEWER, Coordination, bearing, refused, spec
from tests.integration.coordination.rows import NOW, TENANT, coordinator, later, worker
from tests.integration.coordination.runs import ended
from treadle.coordination.v1 import coordination_service_pb2 as pb

GRIN = "\U0001f600"


async def test_a9_23_no_record_is_not_found_and_a_listing_of_none_is_empty(coordination: Coordination) -> None:
    async with refused(StatusCode.NOT_FOUND, "COORDINATOR_NOT_FOUND"):
        await coordination.roster("ses_a")
    listed = await coordination.workers("ses_a")
    assert listed.ok
    assert not listed.threads
    assert not listed.HasField("assignment")


async def test_a9_23_nothing_secret_is_in_it(coordination: Coordination, chat: str, database: Database) -> None:
    await coordination.spawn(chat, spec("alpha", context="the context is the worker's own"))
    await coordination.register(chat, "beta", "ses_w")
    async with database.connection() as tx:
        ((session, job),) = await tx.raw.fetch("SELECT session_id, job_id FROM workers WHERE name = 'alpha'")
    said = MessageToJson(await coordination.roster(chat))
    for secret in ("handle", "token", "capability", "launches", "said", job, session, "the context"):
        assert secret not in said, secret
    assert "ses_w" in said


async def put_large(workshop: PostgresWorkshop, letter: str, workers: int) -> str:
    of = coordinator(note_seq=50)
    text = f"## Result\n\n{letter * 4_000}"
    async with workshop.work() as work:
        await work.make_coordinator(of)
        for number in range(workers):
            one = worker(
                of,
                f"w{number:03}",
                brief=letter * 4_000,
                note_seq=50,
                report_version=1,
                has_result=True,
                status=Status.SUCCEEDED,
                reason="completed",
                ended_at=NOW,
            )
            assert await work.insert_worker(one)
            await work.add_report(one, Report(1, True, False, text, result_section(text), NOW))
            for at in range(1, 51):
                await work.add_note(TENANT, of.session_id, one.id, Note(at, letter * 2_000, "user:ann", NOW))
        for at in range(1, 51):
            await work.add_note(TENANT, of.session_id, "", Note(at, f"{at} {letter * 1_990}", "user:ann", NOW))
    return of.session_id


async def whole(coordination: Coordination, session: str) -> tuple[list[pb.Worker], list[pb.Roster]]:
    pages: list[pb.Roster] = []
    token = ""
    while True:
        pages.append(await coordination.roster(session, page_token=token))
        token = pages[-1].next_page_token
        if not token:
            return [one for page in pages for one in page.threads], pages


async def test_pub23_forty_workers_with_all_that_they_may_have_are_read_in_pages_that_fit(
    coordination: Coordination, workshop: PostgresWorkshop
) -> None:
    session = await put_large(workshop, GRIN, 40)
    workers, pages = await whole(coordination, session)
    assert [one.name for one in workers] == [f"w{number:03}" for number in range(40)]
    assert all(page.ByteSize() < 1_200_000 for page in pages)
    for one in workers:
        assert one.note_count == 50
        assert list(one.notes) == [GRIN * 2_000] * 2
        assert (one.result, one.result_length, one.result_version) == (GRIN * 4_000, 4_000, 1)
        assert one.brief == GRIN * 4_000
    assert pages[0].note_count == 50
    assert [note.split()[0] for note in pages[0].notes] == ["49", "50"]
    notes = (await coordination.notes(session, "w000")).notes
    assert [len(one.text) for one in notes] == [2_000] * 50


async def test_pub23_thirty_two_plain_workers_are_one_page(
    coordination: Coordination, workshop: PostgresWorkshop
) -> None:
    session = await put_large(workshop, "x", 32)
    workers, pages = await whole(coordination, session)
    assert len(workers) == 32
    assert len(pages) == 1
    assert pages[0].ByteSize() < 1_100_000
    assert len(pages[0].threads[0].notes) == 8


async def test_a_long_result_is_left_out_and_its_length_told(
    coordination: Coordination, chat: str, workshop: PostgresWorkshop
) -> None:
    await coordination.spawn(chat, spec("a"), spec("b"), spec("c"), spec("d"))
    await ended(workshop, chat, "a", Reason.COMPLETED, "\n \u3000" + "r" * 4_001 + "\u2003\n")
    await ended(workshop, chat, "b", Reason.COMPLETED, "\n \u3000" + "r" * 4_000 + "\u2003\n")
    await ended(workshop, chat, "c", Reason.FAILED, "got so far")
    await ended(workshop, chat, "d", Reason.FAILED)
    a, b, c, d = (await coordination.workers(chat)).threads
    assert (a.HasField("result"), a.result_length, a.has_result) == (False, 4_001, True)
    assert (b.result, b.result_length) == ("r" * 4_000, 4_000)
    assert (c.result, c.partial, c.reason, c.status) == ("got so far", True, "failed", pb.Worker.STATUS_FAILED)
    assert (d.HasField("result"), d.has_result, d.partial, d.result_version) == (False, False, False, 0)


async def test_pub24_workers_made_in_one_moment_come_once_each(
    coordination: Coordination, workshop: PostgresWorkshop
) -> None:
    of = coordinator()
    async with workshop.work() as work:
        await work.make_coordinator(of)
        for number in range(25):
            await work.insert_worker(worker(of, f"w{number}"))
    seen: list[str] = []
    token = ""
    while True:
        page = await coordination.workers(of.session_id, page_size=10, page_token=token)
        seen += [one.name for one in page.threads]
        if len(seen) == 10:
            async with workshop.work() as work:
                await work.insert_worker(worker(of, "later", created_at=later(1)))
        token = page.next_page_token
        if not token:
            break
    assert seen == [*(f"w{number}" for number in range(25)), "later"]


async def test_pub24_a_token_of_another_list_is_refused(coordination: Coordination, chat: str) -> None:
    await coordination.spawn(chat, spec("a"), spec("b"))
    token = (await coordination.workers(chat, page_size=1)).next_page_token
    assert (await coordination.roster(chat, page_token=token)).threads[0].name == "b"
    await coordination.flag("ses_other")
    for bad in (token, "x", token[:-1], "ä"):
        async with refused(StatusCode.INVALID_ARGUMENT, "INVALID_PAGE_TOKEN", field="page_token"):
            await coordination.workers("ses_other", page_token=bad)
    async with refused(StatusCode.INVALID_ARGUMENT, "INVALID_PAGE_SIZE", field="page_size"):
        await coordination.workers(chat, page_size=-1)
    assert len((await coordination.workers(chat, page_size=10**9)).threads) == 2


async def test_a_workers_own_session_is_told_its_assignment(coordination: Coordination, chat: str) -> None:
    await coordination.register(chat, "alpha", "ses_w", brief="watch")
    listed = await coordination.workers("ses_w")
    assert not listed.threads
    assert (listed.assignment.name, listed.assignment.coordinator_session_id) == ("alpha", chat)


async def test_the_record_says_when_it_or_a_worker_changed_last(
    coordination: Coordination, workshop: PostgresWorkshop
) -> None:
    of = coordinator()
    async with workshop.work() as work:
        await work.make_coordinator(of)
        one = worker(of, kind=Kind.SESSION, status=Status.RUNNING, updated_at=later(90))
        await work.insert_worker(one)
    roster = await coordination.roster(of.session_id, by=VIEWER)
    assert roster.updated_at == int(later(90).timestamp())
    assert roster.threads[0].updated_at == int(later(90).timestamp())


@pytest.mark.parametrize("parent", ["", "ses_a", "session/ses_a", "sessions/", "sessions/ a", "sessions/a\nb"])
async def test_a_parent_that_is_no_session_is_refused(coordination: Coordination, parent: str) -> None:
    async with refused(StatusCode.INVALID_ARGUMENT, "INVALID_ARGUMENT", field="parent"):
        await coordination.stub.ListWorkers(pb.ListWorkersRequest(parent=parent), metadata=bearing(VIEWER))


async def test_who_was_open_then(coordination: Coordination, workshop: PostgresWorkshop) -> None:
    """What a branch shows of its origin (design/planning.md P.3)."""
    of = coordinator()
    async with workshop.work() as work:
        await work.make_coordinator(of)
        for name, begun, end in (("old", 60, 120), ("long", 60, 540), ("next", 180, 540)):
            over = worker(of, name, status=Status.SUCCEEDED, reason="completed")
            assert await work.insert_worker(replace(over, created_at=later(begun), ended_at=later(end)))
        assert await work.insert_worker(worker(of, "open", created_at=later(60)))

    async def names(seconds: float, **fields: Any) -> list[str]:
        then = Timestamp()
        then.FromDatetime(later(seconds))
        page = await coordination.workers(of.session_id, open_at=then, **fields)
        return sorted(one.name for one in page.threads)

    assert await names(0) == []
    assert await names(60) == ["long", "old", "open"]
    assert await names(120) == ["long", "open"]
    assert await names(180) == ["long", "next", "open"]
    assert await names(9_999) == ["open"]
    first = await coordination.workers(of.session_id, page_size=1)
    async with refused(StatusCode.INVALID_ARGUMENT, "INVALID_PAGE_TOKEN"):
        await names(120, page_token=first.next_page_token)
    async with refused(StatusCode.INVALID_ARGUMENT, "INVALID_ARGUMENT"):
        await coordination.workers(of.session_id, open_at=Timestamp(seconds=2**60))
