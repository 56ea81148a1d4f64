"""Decisions under contention, on two replicas with one database (PUB01, PUB02; invariants I1, I3)."""

from __future__ import annotations

import asyncio
from collections import Counter

import orjson
import pytest

from services.kernel.errors import Conflict, NotAllowed
from tests.integration.threads.client import EXECUTION, Client, citation, told
from tests.integration.threads.conftest import StartThreads
from treadle.threads.v1 import thread_service_pb2 as pb


async def outcome(call: object) -> str:
    """`ok`, or the reason of the refusal."""
    try:
        await told(call)
    except (Conflict, NotAllowed) as refusal:
        return refusal.reason
    return "ok"


async def ready(threads: Client) -> pb.Thread:
    """A thread at the gate, by a person's pick: no inference in between."""
    thread = await threads.create()
    pick = pb.SetActionProposalRequest(
        name=thread.name, capability_name="task_create", parameters_json=b'{"task_text": "x"}'
    )
    await told(threads.people.SetActionProposal(pick))
    return await threads.get(thread.name)


def approve(card: pb.Thread) -> pb.AcceptThreadRequest:
    """As both replicas get it."""
    return pb.AcceptThreadRequest(name=card.name, **citation(card))


def dismiss(card: pb.Thread) -> pb.DismissThreadRequest:
    """As both replicas get it."""
    return pb.DismissThreadRequest(name=card.name, **citation(card))


async def test_pub01_twenty_approvals_on_two_replicas_take_effect_once(start_threads: StartThreads) -> None:
    one, two = await start_threads(), await start_threads()
    card = await ready(one)
    calls = [outcome((one, two)[turn % 2].people.AcceptThread(approve(card))) for turn in range(20)]
    assert Counter(await asyncio.gather(*calls)) == {"ok": 1, "ALREADY_DECIDED": 19}
    assert await two.execute()
    assert await one.claim(EXECUTION, wait=0) == []
    log = await one.events(card.name)
    executed = [data for kind, data in log if kind == "state_transition" and data["trigger"] == "execute"]
    assert len(executed) == 1
    assert [kind for kind, _ in log].count("execution_started") == 1
    assert await two.state(card.name) == "done"


async def test_pub01_the_same_key_gets_the_same_answer(start_threads: StartThreads) -> None:
    one, two = await start_threads(), await start_threads()
    card = await ready(one)
    request = approve(card)
    request.request_id = "the-one-click"
    answers = await asyncio.gather(*(told((one, two)[turn % 2].people.AcceptThread(request)) for turn in range(10)))
    assert len({answer.SerializeToString() for answer in answers}) == 1


async def test_pub02_approve_and_dismiss_at_once_have_one_winner(start_threads: StartThreads, rounds: int) -> None:
    one, two = await start_threads(), await start_threads()
    won = Counter[str]()
    for turn in range(rounds):
        card = await ready(one)
        calls = [outcome(one.people.AcceptThread(approve(card))), outcome(two.people.DismissThread(dismiss(card)))]
        approved, dismissed = await asyncio.gather(*(reversed(calls) if turn % 2 else calls))
        approved, dismissed = (dismissed, approved) if turn % 2 else (approved, dismissed)
        assert sorted([approved, dismissed]) == ["ALREADY_DECIDED", "ok"]
        claimed = await two.claim(EXECUTION, wait=0)
        if approved == "ok":
            won["approve"] += 1
            (job,) = claimed
            await two.start(job)
            await two.complete(job, {"success": True})
            assert await one.state(card.name) == "done"
        else:
            won["dismiss"] += 1
            assert claimed == []
            assert await one.state(card.name) == "dismissed"
    assert sum(won.values()) == rounds


async def test_every_decision_at_once_leaves_one_line_in_the_ledger(start_threads: StartThreads) -> None:
    one, two = await start_threads(), await start_threads()
    for _ in range(5):
        card = await ready(one)
        cited = citation(card)
        calls = [
            one.people.AcceptThread(approve(card)),
            two.people.DismissThread(dismiss(card)),
            one.people.RejectThread(pb.RejectThreadRequest(name=card.name, **cited)),
            two.people.RedirectAction(pb.RedirectActionRequest(name=card.name, feedback="no", **cited)),
            one.people.EditThread(
                pb.EditThreadRequest(name=card.name, action_overrides_json=b'{"task_text": "y"}', **cited)
            ),
        ]
        assert Counter(await asyncio.gather(*map(outcome, calls)))["ok"] == 1
        decided = [data["decision"] for kind, data in await one.events(card.name) if "decision" in data]
        assert [entry["choice"] for entry in decided][:1] == ["pick"]
        assert len(decided) == 2
        for job in await one.claim(wait=0, most=10):
            if orjson.loads(job.payload_json).get("target"):
                await one.fail(job, "provider_error")


async def test_many_runners_never_get_the_same_job(start_threads: StartThreads) -> None:
    one, two = await start_threads(), await start_threads()
    for _ in range(12):
        await one.create()
    taken = await asyncio.gather(*((one, two)[turn % 2].claim(wait=3) for turn in range(12)))
    ids = [job.id for jobs in taken for job in jobs]
    assert len(ids) == len(set(ids)) == 12


async def test_a_repeated_claim_answers_the_same_lease(threads: Client) -> None:
    await threads.create()
    await threads.create()
    (first,) = await threads.claim(claim_id="again")
    (again,) = await threads.claim(claim_id="again")
    assert (again.id, again.fence, again.attempt, again.payload_json) == (
        first.id,
        first.fence,
        first.attempt,
        first.payload_json,
    )


async def test_a_long_poll_is_woken_by_another_replicas_commit(start_threads: StartThreads) -> None:
    one, two = await start_threads(), await start_threads()
    polling = asyncio.create_task(two.claim(wait=20))
    await asyncio.sleep(0.05)
    await one.create()
    (job,) = await asyncio.wait_for(polling, 5)
    assert job.attempt == 1


async def test_an_etag_that_is_not_current_is_refused(threads: Client) -> None:
    card = await ready(threads)
    await told(threads.people.RenameThread(pb.RenameThreadRequest(name=card.name, title="Other")))
    with pytest.raises(Conflict) as stale:
        await threads.accept(card.name, card, etag=card.etag)
    assert stale.value.reason == "ETAG_MISMATCH"


async def test_pub08_a_claim_and_its_repeat_at_one_moment_on_two_replicas_are_one(
    start_threads: StartThreads, rounds: int
) -> None:
    one, two = await start_threads(), await start_threads()
    for n in range(rounds):
        for _ in range(2):
            await one.create()
        calls = [replica.claim(wait=5, claim_id=f"c{n}") for replica in (one, two, one, two)]
        answers = [[(job.id, job.fence) for job in jobs] for jobs in await asyncio.gather(*calls)]
        assert len(answers[0]) == 1
        assert answers == answers[:1] * 4
