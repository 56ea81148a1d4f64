"""A preview is what a commit does, to the event; with its etag the commit does that or conflicts (section 0.12)."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from services.kernel.errors import Conflict, Invalid, NotAllowed, Refusal
from tests.integration.threads.client import Client, citation, state_name, told
from treadle.threads.v1 import thread_service_pb2 as pb

DECISIONS = ("accept", "reject", "dismiss", "redirect", "redirect_action", "force_close", "hand_off", "accept_review")


async def preview(threads: Client, name: str, decision: str, **fields: object) -> pb.PreviewDecisionResponse:
    request = pb.PreviewDecisionRequest(name=name, decision=decision, **fields)  # type: ignore[arg-type]
    return await told(threads.people.PreviewDecision(request))


async def commit(threads: Client, name: str, decision: str, etag: str, **fields: str) -> None:
    """The decision that was previewed."""
    people = threads.people
    calls = {
        "accept": lambda: people.AcceptThread(pb.AcceptThreadRequest(name=name, etag=etag, **fields)),
        "reject": lambda: people.RejectThread(pb.RejectThreadRequest(name=name, etag=etag, **fields)),
        "dismiss": lambda: people.DismissThread(pb.DismissThreadRequest(name=name, etag=etag, **fields)),
        "redirect": lambda: people.RedirectThread(
            pb.RedirectThreadRequest(name=name, etag=etag, feedback="otherwise", **fields)
        ),
        "redirect_action": lambda: people.RedirectAction(
            pb.RedirectActionRequest(name=name, etag=etag, feedback="otherwise", **fields)
        ),
        "force_close": lambda: people.ForceCloseThread(pb.ForceCloseThreadRequest(name=name, etag=etag)),
        "hand_off": lambda: people.HandOffThread(pb.HandOffThreadRequest(name=name, etag=etag, to="ana")),
        "accept_review": lambda: people.AcceptReview(pb.AcceptReviewRequest(name=name, etag=etag)),
    }
    await told(calls[decision]())


Log = list[tuple[str, str, str, str, str]]


async def log(threads: Client, names: list[str]) -> Log:
    """All events of these threads, as a preview tells them."""
    told_of: Log = []
    for name in names:
        for kind, data in await threads.events(name):
            moved = kind == "state_transition"
            move = (data["from"], data["to"], data["trigger"]) if moved else ("", "", "")
            told_of.append((name.removeprefix("threads/"), kind, *move))
    return told_of


def foreseen(told_of: pb.PreviewDecisionResponse) -> Log:
    return [
        (
            event.thread_id,
            event.kind,
            state_name(event.from_state) if event.trigger else "",
            state_name(event.to_state) if event.trigger else "",
            event.trigger,
        )
        for event in told_of.events
    ]


def family(sizes: int) -> pb.CreateFamilyRequest:
    """A singular umbrella over so many children at their gate."""
    action = pb.ActionInput(capability_name="task_create", parameters_json=b'{"task_text": "call"}')
    children = [pb.ChildInput(title=f"child {number}", action=action) for number in range(sizes)]
    return pb.CreateFamilyRequest(relationship=pb.Thread.RELATIONSHIP_SINGULAR, title="umbrella", children=children)


async def members(threads: Client, umbrella: pb.Thread) -> list[pb.Thread]:
    return list((await told(threads.people.ListSubThreads(pb.ListSubThreadsRequest(name=umbrella.name)))).threads)


async def no_jobs(threads: Client) -> list[str]:
    """Ends every job that waits, without success; the threads they were for."""
    ended: list[str] = []
    while jobs := await threads.claim(wait=0, most=32):
        for job in jobs:
            await threads.fail(job, "action_failed")
            ended.append(job.thread)
    return ended


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    size=st.integers(1, 3),
    steps=st.lists(st.tuples(st.integers(0, 4), st.sampled_from(DECISIONS)), min_size=1, max_size=6),
)
async def test_a_preview_is_exactly_what_the_commit_does_in_families_too(
    threads: Client, size: int, steps: list[tuple[int, str]]
) -> None:
    await no_jobs(threads)
    umbrella = await told(threads.people.CreateFamily(family(size)))
    names = [umbrella.name, (await threads.to_gate()).name, *(one.name for one in await members(threads, umbrella))]
    for place, decision in steps:
        card = await threads.get(names[place % len(names)])
        plain = card.name == umbrella.name or decision in ("force_close", "hand_off", "accept_review")
        cited = {} if plain or not card.actions else citation(card)
        before = await log(threads, names)
        try:
            told_of = await preview(threads, card.name, decision, **cited)
        except Refusal as refused:
            assert await log(threads, names) == before
            with pytest.raises(type(refused), match=re.escape(refused.message)):
                await commit(threads, card.name, decision, "", **cited)
            continue
        assert await log(threads, names) == before
        await commit(threads, card.name, decision, told_of.etag, **cited)
        assert sorted(await log(threads, names)) == sorted(before + foreseen(told_of))
        assert len(await no_jobs(threads)) >= len(told_of.jobs)


async def test_what_was_foreseen_is_not_done_when_the_family_changed_meanwhile(threads: Client) -> None:
    umbrella = await told(threads.people.CreateFamily(family(2)))
    first, second = await members(threads, umbrella)
    told_of = await preview(threads, first.name, "dismiss")
    assert umbrella.id not in [event[0] for event in foreseen(told_of) if event[1] == "state_transition"]
    await told(threads.people.DismissThread(pb.DismissThreadRequest(name=second.name)))
    with pytest.raises(Conflict, match="changed"):
        await commit(threads, first.name, "dismiss", told_of.etag)
    assert await threads.state(first.name) == "awaiting_confirmation"
    again = await preview(threads, first.name, "dismiss")
    assert [event.thread_id for event in again.events if event.kind == "state_transition"] == [first.id, umbrella.id]
    await commit(threads, first.name, "dismiss", again.etag)
    assert await threads.state(umbrella.name) == "dismissed"


async def test_a_preview_meets_the_refusals_of_the_decision(threads: Client) -> None:
    card = await threads.to_gate()
    with pytest.raises(Invalid) as refused:
        await preview(threads, card.name, "accept")
    assert refused.value.reason == "PROPOSAL_NOT_CITED"
    with pytest.raises(Refusal):
        await preview(threads, card.name, "accept_review")
    with pytest.raises(Invalid):
        await preview(threads, card.name, "perhaps")
    await told(threads.people.DismissThread(pb.DismissThreadRequest(name=card.name)))
    with pytest.raises((NotAllowed, Refusal)):
        await preview(threads, card.name, "hand_off")
