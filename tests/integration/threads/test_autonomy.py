"""The policy over real channels: combined inference with the real runner's work, contexts of invocation, review."""

from __future__ import annotations

import orjson
import pytest

from services.runner.actions.catalogue import Catalogue
from services.runner.adapters.payload import JsonCodec
from services.runner.application.ports import Kind, LeasedJob
from services.runner.application.work import Work
from services.runner.providers.scripted import Scripted
from tests.integration.threads.client import EXECUTION, INFERENCE, Client, told
from treadle.threads.v1 import catalog_service_pb2 as catalogue_pb
from treadle.threads.v1 import thread_service_pb2 as pb


async def infer_as_the_runner_does(threads: Client) -> None:
    """Claims one inference and lets the scripted provider answer it."""
    job = await threads.take(INFERENCE)
    leased = LeasedJob(job.id, Kind.INFERENCE, job.tenant, job.thread, job.payload_json, job.fence, job.attempt)

    async def begin() -> None:
        raise AssertionError("an inference has no effect")

    await threads.complete(job, orjson.loads(await Work(JsonCodec(), Scripted(), Catalogue([])).do(leased, begin)))


@pytest.mark.parametrize(
    ("base", "state"), [("end_to_end", "executing"), ("plan_then_review", "awaiting_confirmation")]
)
async def test_golden_23_one_call_goes_through_all_gates(threads: Client, base: str, state: str) -> None:
    policies = {
        "end_to_end": {"auto_advance_states": ["awaiting_confirmation"]},
        "plan_then_review": {"consent_required_kinds": ["action_approved"]},
    }
    gates = ["awaiting_intent_confirmation", "awaiting_context_confirmation"]
    chosen = policies[base]
    policy = {**chosen, "combined_inference": True}
    policy["auto_advance_states"] = [*gates, *chosen.get("auto_advance_states", [])]
    thread = await threads.create("Call the plumber", autonomy_json=orjson.dumps(policy))
    await infer_as_the_runner_does(threads)
    assert await threads.state(thread.name) == state
    kinds = [kind for kind, _ in await threads.events(thread.name)]
    assert [kinds.count(kind) for kind in ("intent_inferred", "context_inferred", "action_inferred")] == [1, 1, 1]
    assert (kinds.count("combined_inferred_meta"), kinds.count("auto_advance_decision")) == (1, 3)
    assert await threads.claim(INFERENCE, wait=0) == []
    assert len(await threads.claim(EXECUTION, wait=0)) == (state == "executing")


async def test_a_combined_walk_goes_on_with_each_confirmation_and_no_second_call(threads: Client) -> None:
    thread = await threads.create(autonomy_json=b'{"combined_inference": true}')
    await infer_as_the_runner_does(threads)
    for state in ("awaiting_intent_confirmation", "awaiting_context_confirmation"):
        assert await threads.state(thread.name) == state
        await threads.accept(thread.name)
        assert await threads.claim(INFERENCE, wait=0) == []
    card = await threads.get(thread.name)
    assert (card.state, len(card.actions)) == (pb.Thread.STATE_AWAITING_CONFIRMATION, 1)
    await threads.accept(thread.name, card)
    await threads.execute()
    assert await threads.state(thread.name) == "done"


async def test_what_may_not_run_without_a_person_does_not(threads: Client) -> None:
    low = catalogue_pb.ActionRegistration.LEVEL_LOW
    action = catalogue_pb.ActionRegistration(
        capability_name="attended", irreversibility=low, regret_potential=low, available_in=["action_proposal"]
    )
    await told(threads.catalogue.RegisterAction(catalogue_pb.RegisterActionRequest(action=action)))
    thread = await threads.create(autonomy_json=b'"end_to_end"')
    for _ in range(3):
        await threads.infer({"kind": "standard", "name": "attended", "parameters": {}})
    card = await threads.get(thread.name)
    assert card.state == pb.Thread.STATE_AWAITING_CONFIRMATION
    assert "!allowed_invocation_contexts" in card.auto_advance_trail[-1].axes


async def test_a_policy_without_proposals_offers_none_and_asks_a_person(threads: Client) -> None:
    thread = await threads.create(autonomy_json=b'{"allowed_invocation_contexts": []}')
    for _ in range(2):
        job = await threads.infer()
        assert orjson.loads(job.payload_json)["actions"] == []
        await threads.accept(thread.name)
    await threads.infer()
    assert await threads.state(thread.name) == "awaiting_action_clarification"
    (failed,) = [data for _, data in await threads.events(thread.name) if data.get("trigger") == "inference_failed"]
    assert failed["reason"] == "action_not_allowed"


async def test_a_review_is_accepted_redirected_or_handed_off(threads: Client) -> None:
    registration = catalogue_pb.ActionRegistration(capability_name="publish", requires_post_review=True)
    await told(threads.catalogue.RegisterAction(catalogue_pb.RegisterActionRequest(action=registration)))
    for end in ("done", "handed_off", "awaiting_inference"):
        card = await threads.to_gate({"kind": "standard", "name": "publish", "parameters": {}})
        await threads.accept(card.name, card)
        await threads.execute()
        waiting = await threads.get(card.name)
        assert (waiting.state, waiting.review_context.action) == (pb.Thread.STATE_AWAITING_REVIEW, "publish")
        explained = await told(threads.people.ExplainThread(pb.ExplainThreadRequest(name=card.name)))
        assert explained.timer_time.seconds - waiting.update_time.seconds == 72 * 3600
        if end == "done":
            await told(threads.people.AcceptReview(pb.AcceptReviewRequest(name=card.name)))
        elif end == "handed_off":
            await told(threads.people.HandOffThread(pb.HandOffThreadRequest(name=card.name, to="ana")))
        else:
            await told(threads.people.RedirectAction(pb.RedirectActionRequest(name=card.name, feedback="again")))
        assert await threads.state(card.name) == end
