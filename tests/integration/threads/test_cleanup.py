"""Cleaning up a thread's source: from every wait state, failing, retried, accepted, lost (golden scenario 32)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from services.kernel.errors import Conflict, NotAllowed
from services.runner.actions.catalogue import Catalogue
from services.runner.actions.files_folder import FilesFolder
from services.runner.adapters.payload import JsonCodec
from services.runner.application.ports import Kind, LeasedJob
from services.runner.application.work import Work
from services.runner.cleanup.file_line import FileLine
from services.runner.cleanup.task_line import TaskLine
from services.runner.providers.scripted import Scripted
from tests.integration.threads.client import Client, told, until
from tests.integration.threads.conftest import StartThreads
from treadle.threads.v1 import job_service_pb2 as job_pb
from treadle.threads.v1 import thread_service_pb2 as pb

CLEANUP = job_pb.Job.KIND_CLEANUP
LINE = {"note_path": "day.md", "line_text": "- call"}


def noted(source: str = "journal_note", **payload: str) -> list[pb.ContextItem]:
    """An item that says where a thread comes from."""
    return [pb.ContextItem(id="line", source=source, payload_json=orjson.dumps(payload or LINE))]


async def clean_up(threads: Client, name: str) -> pb.Decision:
    return await told(threads.people.CleanUpThread(pb.CleanUpThreadRequest(name=name)))


async def run(threads: Client, root: Path) -> None:
    """Claims one cleanup and does it as the runner does."""
    job = await threads.take(CLEANUP)
    leased = LeasedJob(job.id, Kind.CLEANUP, job.tenant, job.thread, job.payload_json, job.fence, job.attempt)
    folder = FilesFolder(root)
    work = Work(JsonCodec(), Scripted(), Catalogue([]), [FileLine(folder), TaskLine(folder)])

    async def begin() -> None:
        await threads.start(job)

    await threads.complete(job, orjson.loads(await work.do(leased, begin)))


async def outcome(threads: Client, name: str) -> dict[str, Any]:
    """The event that tells how the newest cleanup ended."""
    ended = [data for kind, data in await threads.events(name) if kind in ("source_cleaned_up", "cleanup_failed")]
    return ended[-1]


async def test_golden_32_a_runner_takes_the_line_away_and_a_line_that_is_gone_is_fine(
    threads: Client, tmp_path: Path
) -> None:
    (tmp_path / "day.md").write_text("# Day\n  - call\n- call\n")
    for gone, left in ((False, "# Day\n- call\n"), (False, "# Day\n"), (True, "# Day\n")):
        card = await threads.to_gate(context_items=noted())
        assert card.can_clean_up
        assert (await clean_up(threads, card.name)).next_state == pb.Thread.STATE_CLEANING_UP
        await run(threads, tmp_path)
        assert await threads.state(card.name) == "done_cleanup_successful"
        assert (await outcome(threads, card.name))["source_already_gone"] is gone
        assert (tmp_path / "day.md").read_text() == left


async def test_golden_32_a_task_is_taken_out_of_the_list(threads: Client, tmp_path: Path) -> None:
    (tmp_path / "tasks.md").write_text("- [ ] call\n- [ ] write\n")
    card = await threads.to_gate(context_items=noted("task", line_text="- [ ] call"))
    await clean_up(threads, card.name)
    await run(threads, tmp_path)
    assert (tmp_path / "tasks.md").read_text() == "- [ ] write\n"


async def test_golden_32_a_source_that_no_adapter_knows_is_refused_and_writes_nothing(threads: Client) -> None:
    for items in ([], noted("chrome_tab"), noted("journal_note", note_path="day.md"), noted("file", line_text="x")):
        card = await threads.to_gate(context_items=items)
        assert not card.can_clean_up
        with pytest.raises(NotAllowed) as refused:
            await clean_up(threads, card.name)
        assert refused.value.reason == "NO_CLEANUP"
        assert (await threads.get(card.name)).etag == card.etag


async def test_golden_32_a_failed_cleanup_is_retried_or_accepted(threads: Client) -> None:
    card = await threads.to_gate(context_items=noted())
    await clean_up(threads, card.name)
    await threads.fail(await threads.take(CLEANUP), "not_readable")
    failed = await threads.get(card.name)
    assert (failed.state, failed.cleanup_failure) == (pb.Thread.STATE_DONE_CLEANUP_UNSUCCESSFUL, "not_readable")
    await told(threads.people.RetryCleanup(pb.RetryCleanupRequest(name=card.name)))
    await threads.fail(await threads.take(CLEANUP), "not_readable")
    accepted = await told(threads.people.AcceptCleanupFailure(pb.AcceptCleanupFailureRequest(name=card.name)))
    assert accepted.next_state == pb.Thread.STATE_DONE
    for late in (
        threads.people.RetryCleanup(pb.RetryCleanupRequest(name=card.name)),
        threads.people.AcceptCleanupFailure(pb.AcceptCleanupFailureRequest(name=card.name)),
    ):
        with pytest.raises((NotAllowed, Conflict)):
            await told(late)


async def test_golden_32_dismissing_midway_fences_the_runner_off(threads: Client) -> None:
    card = await threads.to_gate(context_items=noted())
    await clean_up(threads, card.name)
    job = await threads.take(CLEANUP)
    await told(threads.people.DismissThread(pb.DismissThreadRequest(name=card.name)))
    with pytest.raises(Conflict):
        await threads.start(job)
    with pytest.raises(Conflict):
        await threads.complete(job, {"success": True})
    assert await threads.state(card.name) == "dismissed"


async def test_golden_32_a_lost_runner_is_replaced_before_the_start_and_not_after_it(
    start_threads: StartThreads,
) -> None:
    threads = await start_threads(lease_seconds=0.3)
    card = await threads.to_gate(context_items=noted())
    await clean_up(threads, card.name)
    await threads.take(CLEANUP)
    again = await threads.take(CLEANUP)
    await threads.start(again)

    async def lost() -> bool:
        return await threads.state(card.name) == "done_cleanup_unsuccessful"

    await until(lost)
    assert (await threads.get(card.name)).cleanup_failure == "runner_lost"
    assert await threads.claim(CLEANUP, wait=0) == []


async def test_golden_32_a_cleanup_that_is_running_cannot_be_asked_for_again(threads: Client) -> None:
    card = await threads.to_gate(context_items=noted())
    await clean_up(threads, card.name)
    etag = (await threads.get(card.name)).etag
    with pytest.raises((NotAllowed, Conflict)):
        await clean_up(threads, card.name)
    assert (await threads.get(card.name)).etag == etag
