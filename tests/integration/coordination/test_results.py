"""Results: a durable mailbox, collected again and again, in pages, and never mistaken (A4, C.4, PUB11, PUB23)."""

from __future__ import annotations

import asyncio
import hashlib

import grpc
import pytest

from services.coordination.adapters.work import PostgresWorkshop
from services.coordination.domain.worker import Reason
from services.kernel.postgres import Database
from tests.integration.coordination.client import PERSON, STRANGER, VIEWER, Coordination, agent, bearing, refused, spec
from tests.integration.coordination.conftest import Served, StartReplica
from tests.integration.coordination.results_client import MIB, Results
from tests.integration.coordination.runner_client import Runner, row_of, session_of
from tests.integration.coordination.runs import ended, taken
from tests.unit.coordination.test_result_section import PUB10
from treadle.coordination.v1 import coordination_service_pb2 as pb

INVALID = grpc.StatusCode.INVALID_ARGUMENT
W = pb.Worker


@pytest.fixture
def results(coordination: Coordination) -> Results:
    """What is said about results."""
    return Results(coordination)


@pytest.fixture
def runner(coordination: Coordination) -> Runner:
    """A runner."""
    return Runner(coordination.channel)


async def test_pub11_no_end_is_mistaken_for_another(
    coordination: Coordination, chat: str, runner: Runner, results: Results
) -> None:
    """Five workers end each in its own way; status and collect, each twice, tell them apart in the same bytes."""
    await coordination.spawn(
        chat,
        spec("done"),
        spec("budget"),
        spec("empty"),
        spec("late", timeout_seconds=1),
        spec("stillborn"),
        spec("busy"),
    )
    jobs = await runner.claim_all(6)
    await runner.complete(jobs["done"], "completed", "Notes.\n\n## Result\n\nThe answer.\n")
    await runner.complete(jobs["budget"], "budget_exhausted", "Half of the ans")
    await runner.complete(jobs["empty"], "completed", "   \n")
    await runner.complete(jobs["stillborn"], "launch_failed")

    async def timed_out() -> bool:
        beat = await runner.beat(jobs["late"])
        return beat.cancel

    async with asyncio.timeout(60):
        while not await timed_out():
            await asyncio.sleep(0.05)
    await runner.complete(jobs["late"], "cancelled", "What I have so far")

    wanted = {
        #         status, reason, collected, partial, result
        "done": (W.STATUS_SUCCEEDED, "completed", True, False, "The answer."),
        "budget": (W.STATUS_FAILED, "budget_exhausted", True, True, "Half of the ans"),
        "empty": (W.STATUS_SUCCEEDED, "completed", False, False, ""),
        "late": (W.STATUS_FAILED, "timeout", True, True, "What I have so far"),
        "stillborn": (W.STATUS_FAILED, "launch_failed", False, False, ""),
        "busy": (W.STATUS_RUNNING, "", False, False, ""),
    }
    roster = [await coordination.workers(chat) for _ in range(2)]
    assert roster[0].SerializeToString() == roster[1].SerializeToString()
    for worker in roster[0].threads:
        status, reason, collected, partial, _ = wanted[worker.name]
        assert (worker.status, worker.reason, worker.has_result, worker.partial) == (status, reason, collected, partial)
    for name, (status, reason, collected, partial, text) in wanted.items():
        once, again = [await results.collect(chat, name) for _ in range(2)]
        assert once.SerializeToString() == again.SerializeToString()
        assert (once.status, once.reason, once.collected, once.partial, once.result) == (
            status,
            reason,
            collected,
            partial,
            text,
        )
        assert once.has_result == collected
        assert bool(once.hint) != collected
        assert once.HasField("as_of_time") == collected
    stillborn = await results.collect(chat, "stillborn")
    assert stillborn.hint == "It ended as failed (launch_failed) and reported no text."


async def test_a9_12_a_failed_worker_without_text_is_told_by_status_and_reason(
    coordination: Coordination, chat: str, workshop: PostgresWorkshop, results: Results
) -> None:
    await coordination.spawn(chat, spec("alpha"))
    await ended(workshop, chat, "alpha", Reason.FAILED)
    answer = await results.collect(chat, "alpha")
    assert not answer.collected
    assert not answer.has_result
    assert (answer.status, answer.reason) == (W.STATUS_FAILED, "failed")
    assert answer.hint == "It ended as failed and reported no text."
    assert not answer.worker_session_id, "no runner has opened its session"


async def test_a9_13_collect_on_a_worker_at_work_answers_at_once(
    coordination: Coordination, chat: str, workshop: PostgresWorkshop, database: Database, results: Results
) -> None:
    await coordination.spawn(chat, spec("alpha"), spec("beta"))
    running = await taken(workshop, database, chat, "alpha")
    answer = await results.collect(chat, "alpha")
    waiting = await results.collect(chat, "beta")
    assert (answer.collected, answer.status, answer.worker_session_id) == (False, W.STATUS_RUNNING, running.session_id)
    assert "thread_wait" in answer.hint
    assert (waiting.collected, waiting.status, waiting.worker_session_id) == (False, W.STATUS_SPAWNING, "")


async def test_collecting_waits_for_nobodys_lock(
    coordination: Coordination, chat: str, workshop: PostgresWorkshop, database: Database, results: Results
) -> None:
    await coordination.spawn(chat, spec("alpha"))
    await ended(workshop, chat, "alpha", Reason.COMPLETED, "text")
    async with database.transaction() as tx:
        await tx.raw.fetch("SELECT * FROM coordinators FOR UPDATE")
        await tx.raw.fetch("SELECT * FROM workers FOR UPDATE")
        assert (await results.collect(chat, "alpha")).result == "text"
    assert (await row_of(database, "alpha"))["collected_version"] == 0
    await results.collect(chat, "alpha")
    assert (await row_of(database, "alpha"))["collected_version"] == 1


async def test_reports_are_versioned_and_none_is_lost(
    coordination: Coordination, chat: str, runner: Runner, database: Database, results: Results
) -> None:
    await coordination.spawn(chat, spec("alpha"))
    (job,) = await runner.claim()
    await runner.report(job, "First words.\n\n## Result\nso far 1")
    early = await results.collect(chat, "alpha")
    assert (early.collected, early.status, early.version) == (True, W.STATUS_RUNNING, 1)
    assert (early.final, early.partial, early.found, early.result) == (False, True, True, "so far 1")
    await runner.report(job, "no section 2")
    await runner.complete(job, "completed", "All.\n\n## Result\n\nthe end 3\n")

    newest = await results.collect(chat, "alpha")
    assert (newest.version, newest.final, newest.partial, newest.result) == (3, True, False, "the end 3")
    assert newest.SerializeToString() == (await results.collect(chat, "alpha", version=3)).SerializeToString()
    second = await results.collect(chat, "alpha", version=2)
    assert (second.version, second.final, second.partial, second.found) == (2, False, True, False)
    assert second.result == "no section 2"
    first = await results.collect(chat, "alpha", version=1)
    assert (first.result, first.as_of_time) == ("so far 1", early.as_of_time)
    assert (await results.collect(chat, "alpha", full_text=True)).result == "All.\n\n## Result\n\nthe end 3\n"
    assert (await row_of(database, "alpha"))["collected_version"] == 3
    for version in (4, -1):
        async with refused(INVALID, "INVALID_ARGUMENT", field="version"):
            await results.collect(chat, "alpha", version=version)


async def test_an_empty_end_after_an_interim_report_is_partial(
    coordination: Coordination, chat: str, runner: Runner, results: Results
) -> None:
    await coordination.spawn(chat, spec("alpha"))
    (job,) = await runner.claim()
    await runner.report(job, "so far")
    await runner.complete(job, "completed", "")
    answer = await results.collect(chat, "alpha")
    assert (answer.status, answer.reason, answer.partial) == (W.STATUS_SUCCEEDED, "completed", True)
    assert (answer.final, answer.result) == (False, "so far")


async def test_an_end_without_words_after_a_collected_report_is_news(
    coordination: Coordination, chat: str, runner: Runner, database: Database, results: Results
) -> None:
    """Else its coordinator would not be woken: it has the text, but not how the worker ended."""
    await coordination.spawn(chat, spec("alpha"))
    (job,) = await runner.claim()
    await runner.report(job, "so far")
    await results.collect(chat, "alpha")
    assert (await row_of(database, "alpha"))["collected_version"] == 1
    await runner.complete(job, "failed")
    assert (await row_of(database, "alpha"))["collected_version"] == 0
    assert (await results.collect(chat, "alpha")).reason == "failed"
    assert (await row_of(database, "alpha"))["collected_version"] == 1


async def test_a_person_who_looks_in_does_not_collect_for_the_coordinator(
    coordination: Coordination, chat: str, workshop: PostgresWorkshop, database: Database, results: Results
) -> None:
    await coordination.spawn(chat, spec("alpha"))
    await ended(workshop, chat, "alpha", Reason.COMPLETED, "text")
    for by in (PERSON, VIEWER):
        assert (await results.collect(chat, "alpha", by=by)).result == "text"
    assert (await row_of(database, "alpha"))["collected_version"] == 0


async def test_who_may_collect(coordination: Coordination, chat: str, sessions: Served, results: Results) -> None:
    await coordination.spawn(chat, spec("alpha"))
    other = sessions.fake.open().id
    async with refused(grpc.StatusCode.PERMISSION_DENIED, "NOT_YOURS"):
        await results.collect(chat, "alpha", by=agent(other))
    async with refused(grpc.StatusCode.NOT_FOUND, "WORKER_NOT_FOUND", thread_name="alpha"):
        await results.collect(other, "alpha")
    async with refused(grpc.StatusCode.NOT_FOUND, "WORKER_NOT_FOUND"):
        await results.collect(chat, "alpha", by=STRANGER)
    async with refused(grpc.StatusCode.NOT_FOUND, "WORKER_NOT_FOUND", thread_name="beta"):
        await results.collect(chat, "beta")
    async with refused(INVALID, "INVALID_NAME", field="thread_name"):
        await results.collect(chat, "alpha\n")
    async with refused(INVALID, "INVALID_ARGUMENT", field="parent"):
        await results.stub.CollectResult(
            pb.CollectResultRequest(parent="threads/x", thread_name="alpha"), metadata=bearing(PERSON)
        )


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("x" * (256 * 1024), id="one page exactly"),
        pytest.param("x" * (256 * 1024 + 1), id="one byte more"),
        pytest.param("é" * 200_000, id="two bytes a character"),
        pytest.param("a" + "\U0001f9f5" * 250_000, id="four bytes a character, none on the edge"),
        pytest.param("line\n" * 100_000 + "end", id="lines"),
    ],
)
async def test_pub23_a_large_result_comes_in_pages_of_whole_characters(
    coordination: Coordination, chat: str, runner: Runner, results: Results, body: str
) -> None:
    await coordination.spawn(chat, spec("alpha"), spec("beta"))
    jobs = await runner.claim_all(2)
    await runner.complete(jobs["alpha"], "completed", f"intro\n\n## Result\n\n{body}\n")
    await runner.complete(jobs["beta"], "completed", "short")
    pages = await results.pages(chat, "alpha")
    assert "".join(page.result for page in pages) == body
    assert all(len(page.result.encode()) <= 256 * 1024 for page in pages)
    assert len(pages) == -(-len(body.encode()) // (256 * 1024 - 3)) or len(pages) == -(
        -len(body.encode()) // (256 * 1024)
    )
    for page in pages:
        assert (page.result_length, page.version, page.found) == (len(body), 1, True)
        assert page.result_sha256 == hashlib.sha256(body.encode()).hexdigest()
    again = await results.pages(chat, "alpha")
    assert [one.SerializeToString() for one in again] == [one.SerializeToString() for one in pages]
    assert [one.name for one in (await coordination.workers(chat)).threads] == ["alpha", "beta"]


@pytest.mark.parametrize(("mib", "reason"), [(2.999, "completed"), (3.9, "result_too_large")])
async def test_pub23_what_a_runner_brings_is_readable_or_refused_with_the_limit(
    coordination: Coordination, chat: str, runner: Runner, results: Results, mib: float, reason: str
) -> None:
    body = "y" * int(mib * MIB)
    await coordination.spawn(chat, spec("alpha"))
    (job,) = await runner.claim()
    await runner.complete(job, "completed", body)
    pages = await results.pages(chat, "alpha")
    assert pages[0].reason == reason
    assert "".join(page.result for page in pages) == (body if reason == "completed" else "")
    assert (str(3 * MIB) in pages[0].hint) == (reason == "result_too_large")


@pytest.mark.parametrize("mib", [3.9, 4.1, 20])
async def test_pub23_a_report_over_the_limit_is_refused_and_changes_nothing(
    coordination: Coordination, chat: str, results: Results, mib: float
) -> None:
    await coordination.register(chat, "alpha", "ext-1")
    text = "z" * int(mib * MIB)
    if mib < 4:
        async with refused(grpc.StatusCode.RESOURCE_EXHAUSTED, "VALUE_TOO_LARGE", field="text", limit=str(3 * MIB)):
            await results.report(chat, "alpha", text, final=True)
    else:
        with pytest.raises(grpc.aio.AioRpcError) as error:
            await results.report(chat, "alpha", text, final=True)
        assert error.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert "4194304" in (error.value.details() or "")
    worker = await coordination.worker(chat, "alpha")
    assert (worker.status, worker.result_version) == (W.STATUS_RUNNING, 0)


async def test_page_tokens_are_of_one_text(
    coordination: Coordination, chat: str, runner: Runner, results: Results
) -> None:
    await coordination.spawn(chat, spec("alpha"), spec("beta"))
    jobs = await runner.claim_all(2)
    await runner.report(jobs["alpha"], "1" * 600_000)
    await runner.report(jobs["beta"], "1" * 600_000)
    first = await results.collect(chat, "alpha")
    await runner.complete(jobs["alpha"], "completed", "2" * 600_000)
    rest = await results.collect(chat, "alpha", page_token=first.next_page_token)
    assert (rest.version, set(rest.result)) == (1, {"1"}), "a page goes on with the version that it began with"
    assert (await results.collect(chat, "alpha", version=1, page_token=first.next_page_token)) == rest
    async with refused(INVALID, "INVALID_ARGUMENT", field="version"):
        await results.collect(chat, "alpha", version=2, page_token=first.next_page_token)
    for fields in ({"page_token": "made-up"}, {"page_token": first.next_page_token, "full_text": True}):
        async with refused(INVALID, "INVALID_PAGE_TOKEN", field="page_token"):
            await results.collect(chat, "alpha", **fields)
    async with refused(INVALID, "INVALID_PAGE_TOKEN"):
        await results.collect(chat, "beta", page_token=first.next_page_token)


async def test_all_replicas_answer_the_same_bytes(
    coordination: Coordination, start_replica: StartReplica, chat: str, runner: Runner, results: Results
) -> None:
    await coordination.spawn(chat, spec("alpha"))
    (job,) = await runner.claim()
    await runner.complete(job, "completed", "3" * 600_000)
    other = Results(await start_replica())
    assert await results.pages(chat, "alpha") == await other.pages(chat, "alpha")


async def test_pub22_what_cannot_be_stored_is_replaced(
    coordination: Coordination, chat: str, runner: Runner, results: Results
) -> None:
    await coordination.spawn(chat, spec("alpha"))
    await coordination.register(chat, "beta", "ext-1")
    (job,) = await runner.claim()
    await runner.complete(job, "completed", "a\0b")
    await results.report(chat, "beta", "c\0d", final=True)
    assert [(await results.collect(chat, name)).result for name in ("alpha", "beta")] == ["a\ufffdb", "c\ufffdd"]


async def test_a9_14_what_a_registered_workers_session_said_is_collected(
    coordination: Coordination, chat: str, sessions: Served, results: Results
) -> None:
    its = sessions.fake.open()
    its.say("from before it was registered")
    await coordination.register(chat, "alpha", its.id)
    nothing = await results.collect(chat, "alpha")
    assert (nothing.collected, nothing.worker_session_id) == (False, its.id)
    assert nothing.hint

    said = its.say("Thinking.\n\n## Result\n\nforty-two\n")
    its.say("   \n")
    its.begin()
    answer, again = [await results.collect(chat, "alpha") for _ in range(2)]
    assert (answer.collected, answer.found, answer.result, answer.version) == (True, True, "forty-two", 0)
    assert (answer.status, answer.partial, answer.final) == (W.STATUS_RUNNING, True, False)
    assert answer.as_of_time.ToDatetime().timestamp() == pytest.approx(said.settled_at.replace(tzinfo=None).timestamp())
    assert answer == again
    full = await results.collect(chat, "alpha", full_text=True)
    assert full.result == "Thinking.\n\n## Result\n\nforty-two\n"
    # The service reads it by a token of its own: the coordinator's agent may not.
    assert {one.kind for one in sessions.fake.askers} == {"service"}

    await coordination.status(chat, "alpha", "succeeded")
    assert not (await results.collect(chat, "alpha")).partial


async def test_a9_14_pages_of_a_conversation_that_moves_on_are_refused(
    coordination: Coordination, chat: str, sessions: Served, results: Results
) -> None:
    its = sessions.fake.open()
    await coordination.register(chat, "alpha", its.id)
    its.say("4" * 600_000)
    pages = await results.pages(chat, "alpha")
    assert [len(page.result) for page in pages] == [262_144, 262_144, 75_712]
    its.say("5" * 600_000)
    async with refused(INVALID, "INVALID_PAGE_TOKEN"):
        await results.collect(chat, "alpha", page_token=pages[0].next_page_token)
    await results.report(chat, "alpha", "reported")
    async with refused(INVALID, "INVALID_PAGE_TOKEN"):
        await results.collect(chat, "alpha", page_token=pages[0].next_page_token)


async def test_a9_14_a_session_that_cannot_be_read_gives_the_hint(
    coordination: Coordination, chat: str, sessions: Served, results: Results
) -> None:
    await coordination.register(chat, "elsewhere", "codex:7f3a")
    await coordination.register(chat, "gone", "ses_" + "0" * 32)
    its = sessions.fake.open()
    await coordination.register(chat, "away", its.id)
    its.say("unreachable")
    sessions.fake.down = True
    for name, session in (("elsewhere", "codex:7f3a"), ("gone", "ses_" + "0" * 32), ("away", its.id)):
        answer = await results.collect(chat, name)
        assert (answer.collected, answer.status, answer.worker_session_id) == (False, W.STATUS_RUNNING, session)
        assert answer.hint == "It has reported nothing, and its session holds no readable answer yet: look there."


async def test_a_worker_collects_nothing(
    coordination: Coordination, chat: str, runner: Runner, results: Results
) -> None:
    await coordination.spawn(chat, spec("alpha"), spec("beta"))
    jobs = await runner.claim_all(2)
    await runner.complete(jobs["beta"], "completed", "secret of beta")
    async with refused(grpc.StatusCode.NOT_FOUND, "WORKER_NOT_FOUND"):
        await results.collect(session_of(jobs["alpha"]), "beta")


async def test_pub10_each_text_is_collected_as_its_block_structure_says_on_whichever_replica(
    coordination: Coordination, start_replica: StartReplica, chat: str, results: Results
) -> None:
    other = Results(await start_replica())
    texts = {f"w{number}": text_and_section for number, text_and_section in enumerate(PUB10.values())}
    await coordination.spawn(chat, *(spec(name) for name in texts))
    runner = Runner(coordination.channel)
    for name, job in (await runner.claim_all(len(texts))).items():
        await runner.complete(job, text=texts[name][0])
    for name, (text, section) in texts.items():
        answers = [await one.collect(chat, name) for one in (results, other, results)]
        assert len({answer.SerializeToString() for answer in answers}) == 1
        assert answers[0].collected
        assert answers[0].found is (section is not None)
        assert answers[0].result == (text.strip() if section is None else section), "never empty, never cut"
        assert (await other.collect(chat, name, full_text=True)).result == text
