"""Runners that die, hang, lie and come late: leases, fences, parking, at most once (section 0.9)."""

from __future__ import annotations

import pytest

from services.kernel.errors import Conflict
from tests.integration.threads.client import EXECUTION, INFERENCE, Client, told, until
from tests.integration.threads.conftest import StartThreads
from treadle.threads.v1 import catalog_service_pb2 as catalogue_pb
from treadle.threads.v1 import job_service_pb2 as job_pb
from treadle.threads.v1 import thread_service_pb2 as pb


@pytest.fixture
async def threads(start_threads: StartThreads) -> Client:
    """Leases of a fifth of a second, so that runners are lost quickly."""
    return await start_threads(lease_seconds=0.2)


async def in_state(threads: Client, name: str, state: str) -> None:
    """Waits for it."""

    async def there() -> bool:
        return await threads.state(name) == state

    await until(there)


async def approved(threads: Client, action: dict[str, object] | None = None) -> pb.Thread:
    """An executing thread."""
    thread = await threads.create()
    pick = pb.SetActionProposalRequest(
        name=thread.name, capability_name="task_create", parameters_json=b'{"task_text": "x"}'
    )
    if action:
        pick.capability_name, pick.parameters_json = str(action["name"]), b"{}"
    await told(threads.people.SetActionProposal(pick))
    await threads.accept(thread.name, await threads.get(thread.name))
    return await threads.get(thread.name)


async def test_a_lost_inference_is_taken_over_and_the_old_runner_is_refused(threads: Client) -> None:
    thread = await threads.create()
    lost = await threads.take(INFERENCE)
    taken = await threads.take(INFERENCE)
    assert (taken.id, taken.fence, taken.attempt) == (lost.id, lost.fence + 1, 2)
    with pytest.raises(Conflict) as refused:
        await threads.complete(lost, {"payload": {"intent": "late"}, "confidence": 1.0})
    assert refused.value.reason == "LEASE_LOST"
    await threads.complete(taken, {"payload": {"intent": "now"}, "confidence": 0.9})
    card = await threads.get(thread.name)
    assert card.intent.text == "now"


async def test_an_inference_that_kills_three_runners_is_parked_and_a_person_is_asked(threads: Client) -> None:
    thread = await threads.create()
    for attempt in (1, 2, 3):
        assert (await threads.take(INFERENCE)).attempt == attempt
    await in_state(threads, thread.name, "awaiting_intent_clarification")
    lost = [data["to"] for _, data in await threads.events(thread.name) if data.get("trigger") == "inference_lost"]
    assert lost == ["awaiting_inference", "awaiting_inference", "awaiting_intent_clarification"]


async def test_a_failing_inference_is_retried_and_then_a_person_is_asked(threads: Client) -> None:
    thread = await threads.create()
    for _ in range(3):
        await threads.fail(await threads.take(INFERENCE), "provider_error", retryable=True)
    assert await threads.state(thread.name) == "awaiting_intent_clarification"
    assert "ZX-SECRET-7" not in str(await threads.events(thread.name))


async def test_a_runner_lost_before_the_start_is_replaced(threads: Client) -> None:
    thread = await approved(threads)
    await threads.take(EXECUTION)
    again = await threads.take(EXECUTION)
    assert again.attempt == 2
    await threads.start(again)
    await threads.complete(again, {"success": True})
    assert await threads.state(thread.name) == "done"


async def test_a_runner_lost_after_the_start_is_not_and_its_late_result_is_only_kept(threads: Client) -> None:
    thread = await approved(threads)
    job = await threads.take(EXECUTION)
    await threads.start(job)
    await in_state(threads, thread.name, "awaiting_redirect")
    assert (await threads.get(thread.name)).failure_context.code == "runner_lost"
    with pytest.raises(Conflict):
        await threads.complete(job, {"success": True})
    assert await threads.state(thread.name) == "awaiting_redirect"
    kind, data = (await threads.events(thread.name))[-1]
    assert (kind, data["late"]) == ("execution_finished", True)
    assert await threads.claim(EXECUTION, wait=0) == []


async def test_an_idempotent_action_runs_again_after_a_lost_start(threads: Client) -> None:
    registration = catalogue_pb.ActionRegistration(
        capability_name="sync_index",
        idempotent=True,
        parameters_schema_json=b'{"type": "object"}',
        irreversibility=catalogue_pb.ActionRegistration.LEVEL_LOW,
    )
    await told(threads.catalogue.RegisterAction(catalogue_pb.RegisterActionRequest(action=registration)))
    thread = await approved(threads, {"name": "sync_index"})
    await threads.start(await threads.take(EXECUTION))
    again = await threads.take(EXECUTION)
    await threads.start(again)
    await threads.complete(again, {"success": True})
    assert await threads.state(thread.name) == "done"


async def test_heartbeats_keep_a_lease_and_a_foreign_fence_is_refused(start_threads: StartThreads) -> None:
    threads = await start_threads(lease_seconds=0.6)
    await threads.create()
    job = await threads.take(INFERENCE)
    for _ in range(8):
        await told(threads.runner.HeartbeatJob(job_pb.HeartbeatJobRequest(job_id=job.id, fence=job.fence)))
        assert await threads.claim(INFERENCE, wait=0.1) == []
    with pytest.raises(Conflict):
        await told(threads.runner.HeartbeatJob(job_pb.HeartbeatJobRequest(job_id=job.id, fence=job.fence + 1)))


async def test_dismissing_while_inferring_fences_the_runner_off(threads: Client) -> None:
    thread = await threads.create()
    job = await threads.take(INFERENCE)
    await told(threads.people.DismissThread(pb.DismissThreadRequest(name=thread.name)))
    with pytest.raises(Conflict):
        await threads.complete(job, {"payload": {"intent": "late"}, "confidence": 1.0})
    assert await threads.state(thread.name) == "dismissed"


async def test_a_failed_execution_asks_for_a_redirect_and_gives_a_code_only(threads: Client) -> None:
    thread = await approved(threads)
    await threads.execute(success=False)
    card = await threads.get(thread.name)
    assert (card.failure_context.code, card.failure_context.action) == ("action_failed", "task_create")
    assert "ZX-SECRET-7" not in str(card)
    await told(threads.people.RedirectAction(pb.RedirectActionRequest(name=thread.name, feedback="gently")))
    assert await threads.state(thread.name) == "awaiting_inference"


async def test_an_action_with_review_waits_for_it_and_is_accepted_by_the_clock(start_threads: StartThreads) -> None:
    threads = await start_threads(review_auto_accept_hours=0.2 / 3600)
    registration = catalogue_pb.ActionRegistration(capability_name="publish", requires_post_review=True)
    await told(threads.catalogue.RegisterAction(catalogue_pb.RegisterActionRequest(action=registration)))
    thread = await approved(threads, {"name": "publish"})
    await threads.execute()
    await in_state(threads, thread.name, "done")
    moves = [data for kind, data in await threads.events(thread.name) if kind == "state_transition"]
    assert [(move["to"], move["trigger"]) for move in moves[-2:]] == [
        ("awaiting_review", "execution_done"),
        ("done", "timeout"),
    ]


async def test_an_inferred_action_that_is_unknown_or_does_not_fit_asks_a_person(threads: Client) -> None:
    for action, code in (
        ({"kind": "standard", "name": "fly", "parameters": {}}, "unknown_action"),
        ({"kind": "standard", "name": "task_create", "parameters": {"task_text": 1}}, "invalid_parameters"),
    ):
        card = await threads.to_gate(action)
        assert card.state == pb.Thread.STATE_AWAITING_ACTION_CLARIFICATION
        (failed,) = [data for _, data in await threads.events(card.name) if data.get("trigger") == "inference_failed"]
        assert failed["reason"] == code
