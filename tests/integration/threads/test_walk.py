"""One matter from its creation to its end, over gRPC on real engines."""

from __future__ import annotations

import asyncpg
import orjson
import pytest

from services.kernel.errors import AlreadyExists, Conflict, Invalid, NotAllowed, NotFound, TooLarge
from services.threads.adapters import thread_doc
from services.threads.adapters.log import event_of
from services.threads.domain.evolve import rebuild
from tests.integration.threads.client import EXECUTION, INFERENCE, Client, citation, told
from treadle.threads.v1 import catalog_service_pb2 as catalogue_pb
from treadle.threads.v1 import thread_service_pb2 as pb

REDIRECTED = {"kind": "standard", "name": "file_append", "parameters": {"path": "a.txt", "text": "b"}}


async def rebuilt(database_url: str) -> int:
    """Checks rebuild(events) == row for every thread, dense numbers too; answers how many threads there are."""
    connection = await asyncpg.connect(database_url)
    try:
        rows = await connection.fetch("SELECT tenant, id, doc, seq, state FROM threads")
        for row in rows:
            log = await connection.fetch(
                "SELECT * FROM thread_events WHERE tenant = $1 AND thread_id = $2 ORDER BY seq",
                row["tenant"],
                row["id"],
            )
            thread = rebuild(event_of(one) for one in log)
            assert thread == thread_doc.load(row["doc"])
            assert (thread.seq, thread.state) == (row["seq"], row["state"])
    finally:
        await connection.close()
    return len(rows)


async def test_a_matter_goes_all_the_way(threads: Client, database_url: str) -> None:
    thread = await threads.create(description="the tap drips")
    assert await threads.state(thread.name) == "awaiting_inference"
    for _ in range(2):
        await threads.infer()
        await threads.accept(thread.name)
    await threads.infer()
    card = await threads.get(thread.name)
    assert (card.actions[0].name, card.actions[0].irreversibility) == ("task_create", "low")
    decision = await threads.accept(thread.name, card)
    assert decision.next_state == pb.Thread.STATE_EXECUTING
    job = await threads.take(EXECUTION)
    assert orjson.loads(job.payload_json)["proposal"] == {
        "proposal_id": card.actions[0].proposal_id,
        "digest": card.actions[0].proposal_digest,
        "name": "task_create",
        "parameters": {"task_text": "call"},
    }
    await threads.start(job)
    await threads.start(job)
    await threads.complete(job, {"success": True, "result": {"path": "ZX-SECRET-7"}})
    await threads.complete(job, {"success": True})
    assert await threads.state(thread.name) == "done"
    log = await threads.events(thread.name)
    moves = [data for kind, data in log if kind == "state_transition"]
    assert [move["trigger"] for move in moves if move["trigger"] != "inference_claimed"] == [
        "begin_inference",
        "inference_done",
        "confirmed",
        "inference_done",
        "confirmed",
        "inference_done",
        "execute",
        "execution_done",
    ]
    assert [kind for kind, _ in log].count("execution_started") == 1
    assert "ZX-SECRET-7" not in str(log)
    assert await rebuilt(database_url) == 1


async def test_a_redirect_reaches_the_next_inference_oldest_first(threads: Client) -> None:
    card = await threads.to_gate()
    request = pb.RedirectActionRequest(name=card.name, feedback="do NOT call", **citation(card))
    decision = await told(threads.people.RedirectAction(request))
    assert decision.superseded_event_id
    assert not (await threads.get(card.name)).actions
    job = await threads.take(INFERENCE)
    task = orjson.loads(job.payload_json)
    assert task["target"] == "action"
    assert [said["text"] for said in task["feedback"]] == ["do NOT call"]
    assert task["prior_proposal"]["name"] == "task_create"
    assert {action["capability_name"] for action in task["actions"]} >= {"task_create", "file_append", "http_request"}
    await threads.complete(job, {"payload": {}, "confidence": 0.0})
    assert await threads.state(card.name) == "awaiting_action_clarification"
    await told(threads.people.ProvideThread(pb.ProvideThreadRequest(name=card.name, text="write it down")))
    job = await threads.take(INFERENCE)
    task = orjson.loads(job.payload_json)
    assert [said["text"] for said in task["feedback"]] == ["do NOT call"]
    assert task["clarifications"] == ["write it down"]
    await threads.complete(job, {"payload": REDIRECTED, "confidence": 0.9})
    card = await threads.get(card.name)
    assert [action.name for action in card.actions] == ["file_append"]


async def test_edit_changes_what_is_executed_and_keeps_the_risk(threads: Client) -> None:
    card = await threads.to_gate()
    overrides = orjson.dumps({card.actions[0].id: {"task_text": "write"}})
    request = pb.EditThreadRequest(name=card.name, action_overrides_json=overrides, **citation(card))
    await told(threads.people.EditThread(request))
    edited = await threads.get(card.name)
    assert orjson.loads(edited.actions[0].parameters_json) == {"task_text": "write"}
    assert edited.actions[0].irreversibility == "low"
    with pytest.raises(Conflict) as lost:
        await threads.accept(card.name, card)
    assert lost.value.metadata["decision"] == "edit"
    await threads.accept(card.name, edited)
    job = await threads.take(EXECUTION)
    assert orjson.loads(job.payload_json)["proposal"]["parameters"] == {"task_text": "write"}


async def test_an_edit_that_breaks_the_schema_is_refused_by_field(threads: Client) -> None:
    card = await threads.to_gate()
    overrides = orjson.dumps({card.actions[0].id: {"task_text": 7}})
    with pytest.raises(Invalid) as refused:
        await threads.accept(card.name, card, action_overrides_json=overrides)
    assert (refused.value.reason, refused.value.metadata["field"]) == (
        "INVALID_PARAMETERS",
        "action_overrides.task_text",
    )
    assert (await threads.get(card.name)).etag == card.etag


async def test_reject_dismiss_and_hand_off_end_a_thread(threads: Client) -> None:
    rejected, dismissed, handed = await threads.to_gate(), await threads.to_gate(), await threads.to_gate()
    await told(threads.people.RejectThread(pb.RejectThreadRequest(name=rejected.name, **citation(rejected))))
    await told(threads.people.DismissThread(pb.DismissThreadRequest(name=dismissed.name)))
    await told(threads.people.HandOffThread(pb.HandOffThreadRequest(name=handed.name, to="the landlord")))
    assert [await threads.state(card.name) for card in (rejected, dismissed, handed)] == [
        "dismissed",
        "dismissed",
        "handed_off",
    ]
    with pytest.raises(Conflict) as lost:
        await told(threads.people.DismissThread(pb.DismissThreadRequest(name=dismissed.name)))
    assert (lost.value.metadata["decided_by"], lost.value.metadata["decision"]) == ("local", "dismiss")


async def test_dismissing_a_queued_thread_cancels_its_job(threads: Client) -> None:
    thread = await threads.create()
    await told(threads.people.DismissThread(pb.DismissThreadRequest(name=thread.name)))
    assert await threads.claim(wait=0) == []
    assert await threads.state(thread.name) == "dismissed"


async def test_the_loser_is_told_from_the_ledger_however_long_ago(threads: Client) -> None:
    card = await threads.to_gate()
    request = pb.RedirectActionRequest(name=card.name, feedback="other", **citation(card))
    await told(threads.people.RedirectAction(request))
    await threads.infer(REDIRECTED)
    with pytest.raises(Conflict) as lost:
        await threads.accept(card.name, card)
    assert (lost.value.reason, lost.value.metadata["decision"], lost.value.metadata["state"]) == (
        "ALREADY_DECIDED",
        "redirect",
        "awaiting_confirmation",
    )


async def test_pick_clear_and_universal_actions(threads: Client) -> None:
    thread = await threads.create()
    pick = pb.SetActionProposalRequest(
        name=thread.name, capability_name="thread_rename", parameters_json=b'{"new_title": "Tap"}'
    )
    await told(threads.people.SetActionProposal(pick))
    assert await threads.claim(wait=0) == []
    await threads.accept(thread.name, await threads.get(thread.name))
    card = await threads.get(thread.name)
    assert (card.title, len(card.actions), card.state) == ("Tap", 0, pb.Thread.STATE_AWAITING_CONFIRMATION)
    with pytest.raises(NotAllowed):
        await threads.accept(thread.name)
    await told(threads.people.SetActionProposal(pick))
    await told(threads.people.SetActionProposal(pb.SetActionProposalRequest(name=thread.name)))
    assert not (await threads.get(thread.name)).actions


async def test_what_was_proposed_is_executed_byte_for_byte_numbers_too(threads: Client, database_url: str) -> None:
    registration = catalogue_pb.ActionRegistration(
        capability_name="measure", parameters_schema_json=b'{"type": "object"}'
    )
    await told(
        threads.catalogue.RegisterAction(catalogue_pb.RegisterActionRequest(action=registration, request_id="r"))
    )
    numbers = b'{"a":1e+16,"b":-0.0,"c":1.0,"d":1e-07,"e":9007199254740993,"\xc3\xbc":"\xf0\x9f\xa7\xb5"}'
    thread = await threads.create()
    pick = pb.SetActionProposalRequest(name=thread.name, capability_name="measure", parameters_json=numbers)
    await told(threads.people.SetActionProposal(pick))
    card = await threads.get(thread.name)
    assert card.actions[0].parameters_json == numbers
    (digest,) = [data["digest"] for kind, data in await threads.events(thread.name) if kind == "action_inferred"]
    assert digest == card.actions[0].proposal_digest
    await threads.accept(thread.name, card)
    job = await threads.take(EXECUTION)
    assert numbers in job.payload_json
    assert await rebuilt(database_url) == 1
    with pytest.raises(AlreadyExists):
        registration.description = "another body"
        await told(
            threads.catalogue.RegisterAction(catalogue_pb.RegisterActionRequest(action=registration, request_id="r"))
        )


async def test_a_redirect_to_an_unknown_action_is_refused_and_leaves_no_event(threads: Client) -> None:
    card = await threads.to_gate()
    with pytest.raises(Invalid) as refused:
        await told(threads.people.RedirectAction(pb.RedirectActionRequest(name=card.name, target_action="fly")))
    assert refused.value.reason == "UNKNOWN_ACTION"
    assert (await threads.get(card.name)).etag == card.etag


@pytest.mark.parametrize("name", ["threads/nonsense", "threads/thr_00000000000000000000000000000000"])
async def test_an_unknown_thread_is_not_found(threads: Client, name: str) -> None:
    with pytest.raises(NotFound):
        await threads.get(name)


async def test_a_request_is_answered_once_and_its_id_is_bound_to_its_body(threads: Client) -> None:
    first = await threads.create(request_id="key-1")
    again = await threads.create(request_id="key-1")
    assert again == first
    with pytest.raises(AlreadyExists):
        await threads.create("Something else", request_id="key-1")
    await told(threads.people.DismissThread(pb.DismissThreadRequest(name=first.name)))
    card = await threads.to_gate(request_id="key-2")
    decisions = [await threads.accept(card.name, card, request_id="key-3") for _ in range(3)]
    assert decisions[0] == decisions[1] == decisions[2]


async def test_a_large_new_thread_is_replayed_by_its_name(threads: Client) -> None:
    first = await threads.create(description="x" * 20_000, context_items=_items(4), request_id="big")
    again = await threads.create(description="x" * 20_000, context_items=_items(4), request_id="big")
    assert (again.id, len(again.context_items)) == (first.id, 4)


def _items(count: int) -> list[pb.ContextItem]:
    payload = orjson.dumps({"text": "y" * 60_000})
    return [pb.ContextItem(id=f"i{number}", payload_json=payload) for number in range(count)]


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"title": "a\x00b"}, "title"),
        ({"title": "x" * 201}, "title"),
        ({"description": "x" * 20_001}, "description"),
        ({"autonomy_json": b'"always"'}, "autonomy"),
        ({"autonomy_json": b"{"}, "autonomy"),
        ({"context_items": [pb.ContextItem(payload_json=b'"' + b"x" * 70_000 + b'"')]}, "context_items[0].payload"),
        ({"context_items": [pb.ContextItem(payload_json=b"[" * 30 + b"]" * 30)]}, "context_items[0].payload"),
        ({"request_id": "spa ce"}, "request_id"),
    ],
)
async def test_pub22_what_cannot_stand_is_refused_naming_the_field(
    threads: Client, fields: dict[str, object], field: str
) -> None:
    with pytest.raises((Invalid, TooLarge)) as refused:
        await threads.create(**fields)  # type: ignore[arg-type]
    assert refused.value.metadata["field"] == field
