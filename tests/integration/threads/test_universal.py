"""Universal actions take effect at approval; redirects keep what was said (golden scenarios 18 to 20, 24, 31)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest

from services.kernel.errors import Invalid, NotAllowed, Refusal
from tests.integration.threads.client import EXECUTION, INFERENCE, Client, citation, state_name, told
from treadle.threads.v1 import thread_service_pb2 as pb


async def picked(threads: Client, name: str, action: str, **parameters: Any) -> pb.Thread:
    """The card with an action that a person has chosen."""
    request = pb.SetActionProposalRequest(name=name, capability_name=action, parameters_json=orjson.dumps(parameters))
    await told(threads.people.SetActionProposal(request))
    return await threads.get(name)


async def test_golden_31_a_deferral_waits_a_day_or_as_told_and_any_action_still_works(threads: Client) -> None:
    thread = await threads.to_gate()
    noon = (datetime.now(UTC) + timedelta(days=3)).replace(microsecond=0)
    for parameters, hours in (({}, 24), ({"duration_hours": 2}, 2), ({"resurface_at": noon.isoformat()}, 72)):
        card = await picked(threads, thread.name, "thread_defer", **parameters)
        await threads.accept(thread.name, card)
        after = await threads.get(thread.name)
        ahead = after.resurface_at.ToDatetime(tzinfo=UTC) - datetime.now(UTC)
        assert abs(ahead - timedelta(hours=hours)) < timedelta(minutes=1)
        assert (state_name(after.state), len(after.actions)) == ("awaiting_confirmation", 0)
    card = await picked(threads, thread.name, "task_create", task_text="call")
    await threads.accept(thread.name, card)
    await threads.execute()
    done = await threads.get(thread.name)
    assert (state_name(done.state), done.has_been_later, done.HasField("resurface_at")) == ("done", True, False)


@pytest.mark.parametrize(
    "parameters",
    [
        {"resurface_at": "not-a-date"},
        {"resurface_at": "2001-01-01T00:00:00+00:00"},
        {"resurface_at": "2999-01-01T00:00:00+00:00"},
        {"resurface_at": "2030-01-01T00:00:00"},
        {"duration_hours": 0},
        {"duration_hours": 9000},
        {"duration_hours": "two"},
    ],
)
async def test_golden_31_a_time_that_is_none_is_refused_and_writes_nothing(
    threads: Client, parameters: dict[str, Any]
) -> None:
    thread = await threads.to_gate()
    try:
        card = await picked(threads, thread.name, "thread_defer", **parameters)
    except Invalid:
        assert (await threads.get(thread.name)).etag == thread.etag
        return
    with pytest.raises(Invalid) as refused:
        await threads.accept(thread.name, card)
    assert refused.value.reason == "INVALID_TIME"
    assert (await threads.get(thread.name)).etag == card.etag


async def test_golden_31_rename_trims_and_dismiss_tells_why_without_executing(threads: Client) -> None:
    thread = await threads.to_gate()
    card = await picked(threads, thread.name, "thread_rename", new_title="  Another  ")
    await threads.accept(thread.name, card)
    assert ((await threads.get(thread.name)).title, await threads.state(thread.name)) == (
        "Another",
        "awaiting_confirmation",
    )
    card = await picked(threads, thread.name, "thread_rename", new_title="   ")
    with pytest.raises(Invalid):
        await threads.accept(thread.name, card)
    card = await picked(threads, thread.name, "thread_dismiss", reason="nothing to do")
    await threads.accept(thread.name, card)
    log = await threads.events(thread.name)
    (renamed,) = [data for kind, data in log if kind == "thread_renamed"]
    assert renamed == {"previous_title": "Call the plumber", "new_title": "Another"}
    assert (log[-1][1]["to"], log[-1][1]["reason"]) == ("dismissed", "nothing to do")
    assert await threads.claim(EXECUTION, wait=0) == []
    for late in (
        threads.people.RenameThread(pb.RenameThreadRequest(name=thread.name, title="x")),
        threads.people.DeferThread(pb.DeferThreadRequest(name=thread.name)),
        threads.people.DismissThread(pb.DismissThreadRequest(name=thread.name)),
    ):
        with pytest.raises(Refusal):
            await told(late)


async def test_golden_18_to_20_redirects_reach_the_model_and_the_newest_proposal_stands(threads: Client) -> None:
    card = await threads.to_gate()
    first = card.actions[0]
    for feedback in ("not by mail", ""):
        request = pb.RedirectActionRequest(
            name=card.name, feedback=feedback, params_json=b'{"task_text": "call"}', target_action="task_create"
        )
        done = await told(threads.people.RedirectAction(request))
        assert (state_name(done.next_state), done.superseded_event_id) == ("awaiting_inference", first.id[4:])
        job = await threads.take(INFERENCE)
        payload = orjson.loads(job.payload_json)
        assert (payload["target"], payload["feedback"][0]["text"]) == ("action", "not by mail")
        assert payload["feedback"][-1]["target_action"] == "task_create"
        if feedback:  # an outage resolves nothing: what was said is said again
            await threads.complete(job, {"payload": {}, "confidence": 0.0})
            assert await threads.state(card.name) == "awaiting_action_clarification"
            await told(threads.people.ProvideThread(pb.ProvideThreadRequest(name=card.name, text="try again")))
            again = await threads.take(INFERENCE)
            assert orjson.loads(again.payload_json)["feedback"][0]["text"] == "not by mail"
            action = {"kind": "standard", "name": "task_create", "parameters": {"task_text": "ring"}}
            await threads.complete(again, {"payload": action, "confidence": 0.9})
            (first,) = (await threads.get(card.name)).actions
            break
    (shown,) = (await threads.get(card.name)).actions
    assert orjson.loads(shown.parameters_json) == {"task_text": "ring"}
    proposals = [data for kind, data in await threads.events(card.name) if kind == "action_inferred"]
    assert len(proposals) == 2
    await told(threads.people.SetActionProposal(pb.SetActionProposalRequest(name=card.name)))
    cleared = await threads.get(card.name)
    assert not cleared.actions
    with pytest.raises(Refusal):
        await threads.accept(card.name, proposal_id=shown.proposal_id, proposal_digest=shown.proposal_digest)
    assert (await threads.get(card.name)).etag == cleared.etag


async def test_golden_18_a_redirect_while_executing_is_refused_and_leaves_no_event(threads: Client) -> None:
    card = await threads.to_gate()
    await threads.accept(card.name, card)
    before = (await threads.get(card.name)).etag
    with pytest.raises((NotAllowed, Refusal)):
        await told(threads.people.RedirectAction(pb.RedirectActionRequest(name=card.name, **citation(card))))
    assert (await threads.get(card.name)).etag == before


async def test_golden_24_what_is_dismissed_while_queued_stays_dismissed(threads: Client) -> None:
    thread = await threads.create()
    await told(threads.people.DismissThread(pb.DismissThreadRequest(name=thread.name)))
    assert await threads.claim(wait=0) == []
    spent = await threads.create(autonomy_json=b'{"budget_usd": 0.1}')
    job = await threads.take(INFERENCE)
    await threads.complete(job, {"payload": {"intent": "dear"}, "confidence": 0.9, "cost_usd": 0.2})
    await threads.accept(spent.name)
    assert await threads.claim(INFERENCE, wait=0) == []
    assert await threads.state(spent.name) == "awaiting_context_clarification"
