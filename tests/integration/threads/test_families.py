"""Families over a real channel: spawning and the cascade upward (design/threads.md, sections 4, 7.4; PUB04, PUB19)."""

from __future__ import annotations

from collections.abc import AsyncIterator

import orjson
import pytest

from services.kernel.errors import Invalid, NotAllowed, NotFound
from services.kernel.postgres import Database
from services.threads.adapters.stored import verify
from tests.integration.threads.client import INFERENCE, Client, told
from tests.integration.threads.family import (
    ANY_DONE,
    GROUP,
    child,
    children_of,
    dismiss,
    ended,
    explain,
    family,
    finish,
    hand_off,
    kinds,
    moves,
    quorum,
)
from treadle.threads.v1 import thread_service_pb2 as pb


@pytest.fixture(autouse=True)
async def _all_is_sound(threads: Client, database_url: str) -> AsyncIterator[None]:
    """After each test every log makes its row and every count is right."""
    yield
    database = await Database.open(database_url, "test")
    try:
        assert await verify(database) == []
    finally:
        await database.close()


def items(*ids: str) -> list[pb.ContextItem]:
    """Context items."""
    return [pb.ContextItem(id=one, source="journal_segment", label=one.upper()) for one in ids]


async def decompose(threads: Client, name: str, *titles: str, **fields: object) -> pb.Thread:
    """Breaks a thread down."""
    children = [pb.ChildInput(title=title) for title in titles]
    return await told(threads.people.DecomposeThread(pb.DecomposeThreadRequest(name=name, children=children, **fields)))


async def group(threads: Client, name: str, given: list[pb.ContextItem], *clusters: pb.Cluster) -> pb.Thread:
    """Puts items into columns."""
    return await told(threads.people.GroupThread(pb.GroupThreadRequest(name=name, items=given, clusters=clusters)))


async def test_a_family_is_spawned_whole_and_in_order(threads: Client) -> None:
    umbrella = await family(threads, child("one"), child("two"), pb.ChildInput(title="three"))
    assert umbrella.state == pb.Thread.STATE_MONITORING
    assert (umbrella.sub_thread_count, umbrella.open_children) == (3, 3)
    listed = await children_of(threads, umbrella.name)
    assert [(one.title, one.ordinal) for one in listed] == [("one", 0), ("two", 1), ("three", 2)]
    assert [one.state for one in listed] == [
        pb.Thread.STATE_AWAITING_CONFIRMATION,
        pb.Thread.STATE_AWAITING_CONFIRMATION,
        pb.Thread.STATE_AWAITING_INFERENCE,
    ]
    assert all(list(one.path) == [umbrella.id] for one in listed)
    assert await kinds(threads, umbrella.name) == ["thread_created", "subthreads_spawned", "state_transition"]
    assert [action.host_title for action in umbrella.actions] == ["one", "two"]


@pytest.mark.parametrize(
    ("ends", "becomes"),
    [
        (("dismiss", "dismiss"), "dismissed"),
        (("dismiss", "finish"), "done"),
        (("finish", "finish"), "done"),
        (("dismiss", "hand_off"), "done"),
    ],
)
async def test_golden_9_a_singular_umbrella_ends_as_its_children_did(
    threads: Client, ends: tuple[str, str], becomes: str
) -> None:
    umbrella = await family(threads, child("one"), child("two"))
    for end, card in zip(ends, await children_of(threads, umbrella.name), strict=True):
        assert await threads.state(umbrella.name) == "monitoring"
        match end:
            case "dismiss":
                await dismiss(threads, card.name)
            case "hand_off":
                await hand_off(threads, card.name)
            case _:
                await finish(threads, card)
    assert await threads.state(umbrella.name) == becomes
    assert (await kinds(threads, umbrella.name)).count("subthread_terminal_reported") == 2
    assert (await moves(threads, umbrella.name))[1:] == [("execution_done", becomes)]


@pytest.mark.parametrize("relationship", [GROUP, None])
async def test_golden_9_group_and_decompose_end_done_even_when_all_are_dismissed(
    threads: Client, relationship: int | None
) -> None:
    if relationship is None:
        umbrella = await decompose(threads, (await threads.create()).name, "one", "two")
    else:
        umbrella = await family(threads, child("one"), child("two"), relationship=relationship)
    for card in await children_of(threads, umbrella.name):
        await dismiss(threads, card.name)
    assert await threads.state(umbrella.name) == "done"


async def test_golden_7_decompose_spawns_children_that_begin_and_cancels_its_own_inference(threads: Client) -> None:
    thread = await threads.create()
    job = await threads.take(INFERENCE)
    umbrella = await decompose(threads, thread.name, "one", "two", "three")
    assert umbrella.state == pb.Thread.STATE_MONITORING
    with pytest.raises(Exception, match="lease"):
        await threads.complete(job, {"payload": {"intent": "late"}})
    assert (await moves(threads, thread.name))[-1] == ("children_spawned", "monitoring")
    listed = await children_of(threads, thread.name)
    assert {one.state for one in listed} == {pb.Thread.STATE_AWAITING_INFERENCE}
    assert [one.title for one in listed] == ["one", "two", "three"]
    (spawned,) = [data for kind, data in await threads.events(thread.name) if kind == "subthreads_spawned"]
    assert spawned["child_thread_ids"] == [one.id for one in listed]
    assert spawned["source_count"] == 3
    again = await decompose(threads, thread.name, "four")
    assert [one.ordinal for one in await children_of(threads, again.name)] == [0, 1, 2, 3]


async def test_golden_7_a_child_may_only_be_more_careful(threads: Client) -> None:
    wide, narrow = b'{"budget_usd": 5}', b'{"budget_usd": 0.1}'
    with pytest.raises(Invalid, match="widen") as refused:
        await family(threads, child("one"), child("two", autonomy_json=wide))
    assert refused.value.metadata["field"].startswith("children[1]")
    umbrella = await family(threads, child("one", autonomy_json=narrow), child("two"))
    policies = [orjson.loads(one.autonomy_json)["budget_usd"] for one in await children_of(threads, umbrella.name)]
    assert policies == [0.1, 0.5]


async def test_an_approved_decompose_spawns_from_its_parameters(threads: Client) -> None:
    thread = await threads.create()
    parameters = orjson.dumps({"children": [{"title": "one"}, {"title": "two", "description": "more"}]})
    pick = pb.SetActionProposalRequest(name=thread.name, capability_name="decompose", parameters_json=parameters)
    await told(threads.people.SetActionProposal(pick))
    decided = await threads.accept(thread.name, await threads.get(thread.name))
    assert decided.next_state == pb.Thread.STATE_MONITORING
    assert [one.title for one in await children_of(threads, thread.name)] == ["one", "two"]


@pytest.mark.parametrize("end", ["dismissed", "done"])
async def test_pub04_d_a_parent_that_has_ended_gets_no_child(threads: Client, end: str) -> None:
    umbrella = await family(threads, child("one"))
    (card,) = await children_of(threads, umbrella.name)
    await (dismiss(threads, card.name) if end == "dismissed" else finish(threads, card))
    assert await threads.state(umbrella.name) == end
    before = await threads.events(umbrella.name)
    for attempt in (
        decompose(threads, umbrella.name, "late"),
        family(threads, child("late"), parent_id=umbrella.id),
        group(threads, umbrella.name, items("a")),
    ):
        with pytest.raises(NotAllowed):
            await attempt
    assert await threads.events(umbrella.name) == before


async def test_pub04_b_no_children_is_refused_and_nothing_stored(threads: Client) -> None:
    thread = await threads.create()
    for attempt in (
        family(threads),
        family(threads, relationship=GROUP),
        decompose(threads, thread.name),
        group(threads, thread.name, []),
    ):
        with pytest.raises(Invalid):
            await attempt
    page = await told(threads.people.ListThreads(pb.ListThreadsRequest()))
    assert [one.id for one in page.threads] == [thread.id]
    assert await threads.state(thread.name) == "awaiting_inference"


async def test_pub04_a_the_parent_stays_until_all_five_are_terminal(threads: Client) -> None:
    umbrella = await family(
        threads, pb.ChildInput(title="at once", state=pb.Thread.STATE_DISMISSED), *(child(str(n)) for n in range(4))
    )
    assert (umbrella.state, umbrella.open_children) == (pb.Thread.STATE_MONITORING, 4)
    cards = await children_of(threads, umbrella.name)
    for card in cards[1:]:
        assert await threads.state(umbrella.name) == "monitoring"
        await finish(threads, card)
    assert await threads.state(umbrella.name) == "done"


async def test_a_family_of_nothing_but_dismissed_children_ends_at_once_and_tells_its_parent(threads: Client) -> None:
    gone = pb.ChildInput(title="dropped", state=pb.Thread.STATE_DISMISSED)
    outer = await family(threads, child("one"))
    inner = await family(threads, gone, gone, parent_id=outer.id)
    assert inner.state == pb.Thread.STATE_DISMISSED
    assert (await kinds(threads, inner.name)).count("subthread_terminal_reported") == 2
    card = await threads.get(outer.name)
    assert (card.sub_thread_count, card.open_children) == (2, 1)
    await dismiss(threads, (await children_of(threads, outer.name))[0].name)
    assert await threads.state(outer.name) == "dismissed"


async def test_pub19_a_failed_child_keeps_the_parent_open_and_is_named(threads: Client) -> None:
    umbrella = await family(threads, child("works"), child("breaks"))
    works, breaks = await children_of(threads, umbrella.name)
    await finish(threads, works)
    await finish(threads, breaks, success=False)
    assert await ended(threads, umbrella.name, breaks.name) == ["monitoring", "awaiting_redirect"]
    told_why = await explain(threads, umbrella.name)
    assert told_why.waits_on == "children"
    assert [(one.title, one.code, one.waits_on) for one in told_why.waits_for] == [
        ("breaks", "action_failed", "person")
    ]
    assert "breaks" in told_why.summary
    assert "action_failed" in told_why.summary
    assert "redirect_action" in told_why.waits_for[0].moves
    hoisted = (await threads.get(umbrella.name)).actions
    assert [(one.host_title, one.state, one.settled) for one in hoisted] == [
        ("works", "done", True),
        ("breaks", "failed", True),
    ]
    redirect = pb.RedirectActionRequest(name=breaks.name, feedback="another way")
    await told(threads.people.RedirectAction(redirect))
    await threads.infer()
    await finish(threads, await threads.get(breaks.name))
    assert await threads.state(umbrella.name) == "done"


@pytest.mark.parametrize("way", ["hand_off", "dismiss"])
async def test_pub19_a_failed_child_that_is_given_up_lets_the_parent_end(threads: Client, way: str) -> None:
    umbrella = await family(threads, child("works"), child("breaks"))
    works, breaks = await children_of(threads, umbrella.name)
    await finish(threads, breaks, success=False)
    await finish(threads, works)
    await (hand_off(threads, breaks.name) if way == "hand_off" else dismiss(threads, breaks.name))
    assert await threads.state(umbrella.name) == "done"
    redirect = pb.RedirectActionRequest(name=breaks.name, feedback="after all")
    with pytest.raises(Exception, match=r"decided|not allowed"):
        await told(threads.people.RedirectAction(redirect))


async def test_golden_8_an_orphan_and_a_repeat_report_nothing(threads: Client) -> None:
    umbrella = await family(threads, child("one"), child("two"))
    one, _ = await children_of(threads, umbrella.name)
    await dismiss(threads, one.name)
    with pytest.raises(Exception, match=r"decided|not allowed"):
        await dismiss(threads, one.name)
    assert (await kinds(threads, umbrella.name)).count("subthread_terminal_reported") == 1
    assert await threads.state(umbrella.name) == "monitoring"


async def test_golden_10_a_nested_singular_that_was_all_dismissed_leaves_its_decompose_parent_done(
    threads: Client,
) -> None:
    outer = await decompose(threads, (await threads.create()).name, "other")
    inner = await family(threads, child("one"), child("two"), parent_id=outer.id)
    assert list(inner.path) == [outer.id]
    for card in await children_of(threads, inner.name):
        await dismiss(threads, card.name)
    assert await ended(threads, outer.name, inner.name) == ["monitoring", "dismissed"]
    await dismiss(threads, (await children_of(threads, outer.name))[0].name)
    assert await threads.state(outer.name) == "done"


async def test_golden_10_a_hundred_and_five_children(threads: Client) -> None:
    umbrella = await family(threads, *(child(str(number)) for number in range(105)), relationship=GROUP)
    cards = await children_of(threads, umbrella.name)
    assert [one.ordinal for one in cards] == list(range(105))
    for card in cards[:-1]:
        await dismiss(threads, card.name)
    card = await threads.get(umbrella.name)
    assert (card.state, card.open_children, card.sub_thread_count) == (pb.Thread.STATE_MONITORING, 1, 105)
    await dismiss(threads, cards[-1].name)
    assert await threads.state(umbrella.name) == "done"


async def test_golden_12_items_go_to_the_first_cluster_that_names_them(threads: Client) -> None:
    thread = await threads.create()
    clusters = [
        pb.Cluster(label="Bills", item_ids=["a", "b", "nowhere"]),
        pb.Cluster(label="Doubles", item_ids=["a"]),
        pb.Cluster(label="  ", item_ids=["b", "c"]),
    ]
    umbrella = await group(threads, thread.name, items("a", "b", "c", "d"), *clusters)
    assert umbrella.parent_relationship == GROUP
    columns = await children_of(threads, umbrella.name)
    held = [(one.title, [item.id for item in one.context_items]) for one in columns]
    assert held == [("Bills", ["a", "b"]), ("Group", ["c"]), ("Ungrouped", ["d"])]
    assert {one.originating_scrape_id for one in columns} == {umbrella.originating_scrape_id} != {""}
    (spawned,) = [data for kind, data in await threads.events(thread.name) if kind == "groups_spawned"]
    assert spawned["child_labels"] == ["Bills", "Group", "Ungrouped"]
    assert (spawned["source_count"], spawned["cluster_count"]) == (4, 3)


async def test_a_family_of_one_kind_does_not_become_another(threads: Client) -> None:
    umbrella = await family(threads, child("one"))
    with pytest.raises(NotAllowed) as refused:
        await group(threads, umbrella.name, items("a"))
    assert refused.value.reason == "WRONG_RELATIONSHIP"


async def test_audit_items_are_on_every_spawned_thread(threads: Client) -> None:
    selection = pb.ContextItem(id="sel", source="inline_selection", type="selection")
    audit = pb.ContextItem(id="subcall:deadline_extract", source="subcall", type="deadline_extract")
    own = pb.ContextItem(id="own", source="inline_selection")
    umbrella = await family(threads, child("one", context_items=[own]), child("two"), context_items=[selection, audit])
    held = [[item.id for item in one.context_items] for one in await children_of(threads, umbrella.name)]
    assert held == [["sel", audit.id, "own"], ["sel", audit.id]]
    assert [item.id for item in (await threads.get(umbrella.name)).context_items] == ["sel", audit.id]
    columns = await family(
        threads, child("one", context_items=[own]), relationship=GROUP, context_items=[selection, audit]
    )
    (column,) = await children_of(threads, columns.name)
    assert [item.id for item in column.context_items] == [audit.id, "own"]


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"state": pb.Thread.STATE_DONE}, "children[0].state"),
        ({"state": pb.Thread.STATE_EXECUTING}, "children[0].state"),
        ({"state": pb.Thread.STATE_AWAITING_INTENT_CLARIFICATION}, "children[0].question"),
        ({"question": "which?"}, "children[0].question"),
        ({"state": pb.Thread.STATE_AWAITING_CONFIRMATION}, "children[0].action"),
        ({"title": " "}, "children[0].title"),
        ({"action": pb.ActionInput(capability_name="nothing")}, "children[0].action.capability_name"),
    ],
)
async def test_a_child_that_cannot_be_is_named_and_nothing_is_stored(
    threads: Client, fields: dict[str, object], field: str
) -> None:
    with pytest.raises(Invalid) as refused:
        await family(threads, pb.ChildInput(**{"title": "x", **fields}))
    assert refused.value.metadata["field"] == field
    assert not (await told(threads.people.ListThreads(pb.ListThreadsRequest()))).threads


@pytest.mark.parametrize("state", ["AWAITING_INTENT_CLARIFICATION", "AWAITING_ACTION_CLARIFICATION"])
async def test_a_question_spawns_a_clarification_that_goes_on_when_answered(threads: Client, state: str) -> None:
    number = pb.Thread.State.Value(f"STATE_{state}")
    thread = await threads.create(state=number, question="Which plumber?")
    assert (thread.state, thread.question) == (number, "Which plumber?")
    await told(threads.people.ProvideThread(pb.ProvideThreadRequest(name=thread.name, text="The one in the street")))
    job = await threads.take(INFERENCE)
    assert "The one in the street" in orjson.loads(job.payload_json)["clarifications"]
    await threads.fail(job, "provider_error")


async def test_a_thread_is_spawned_with_its_action_or_dismissed(threads: Client) -> None:
    with_action = await threads.create(action=child("x").action)
    assert with_action.state == pb.Thread.STATE_AWAITING_CONFIRMATION
    await finish(threads, with_action)
    gone = await threads.create(state=pb.Thread.STATE_DISMISSED)
    assert gone.state == pb.Thread.STATE_DISMISSED
    assert await kinds(threads, gone.name) == ["thread_created", "thread_dismissed"]


async def test_a_spawned_action_never_executes_by_itself_whatever_the_policy(threads: Client) -> None:
    umbrella = await family(threads, child("one"), autonomy_json=b'"end_to_end"')
    (card,) = await children_of(threads, umbrella.name)
    assert card.state == pb.Thread.STATE_AWAITING_CONFIRMATION
    assert await threads.claim(wait=0) == []


async def test_a_repeated_request_answers_the_same_family(threads: Client) -> None:
    made = [await family(threads, child("one"), child("two"), request_id="once") for _ in range(2)]
    assert made[0].SerializeToString() == made[1].SerializeToString()
    many = [await family(threads, *(child("x" * 150) for _ in range(300)), request_id="large") for _ in range(2)]
    assert many[0].id == many[1].id
    assert len((await told(threads.people.ListThreads(pb.ListThreadsRequest()))).threads) == 2


async def test_the_chain_ends_at_the_depth_cap(threads: Client) -> None:
    parent = await threads.create()
    chain = [parent.name]
    for depth in range(32):
        umbrella = await decompose(threads, chain[-1], f"level {depth + 1}")
        (card,) = await children_of(threads, umbrella.name)
        chain.append(card.name)
    assert len((await threads.get(chain[-1])).path) == 32
    with pytest.raises(Invalid) as refused:
        await decompose(threads, chain[-1], "too deep")
    assert refused.value.reason == "TOO_DEEP"
    with pytest.raises(Invalid):
        await family(threads, child("x"), parent_id=chain[-1].removeprefix("threads/"))
    with pytest.raises(Invalid):
        await family(threads, child("x"), parent_id=chain[-2].removeprefix("threads/"))
    await dismiss(threads, chain[-1])
    assert set(await ended(threads, *chain)) == {"done", "dismissed"}
    assert await threads.state(chain[0]) == "done"


async def test_a_quorum_dismisses_the_rest(threads: Client) -> None:
    umbrella = await family(threads, *(child(str(n)) for n in range(5)), cascade_policy=quorum(2))
    cards = await children_of(threads, umbrella.name)
    await dismiss(threads, cards[4].name)
    await finish(threads, cards[1])
    assert await threads.state(umbrella.name) == "monitoring"
    assert "1 of 3 open" in (await explain(threads, umbrella.name)).summary
    await finish(threads, cards[3])
    states = await ended(threads, umbrella.name, *(card.name for card in cards))
    assert states == ["done", "dismissed", "done", "dismissed", "done", "dismissed"]
    reasons = [data.get("reason") for kind, data in await threads.events(cards[0].name) if kind == "state_transition"]
    assert reasons[-1] == "policy_met"
    assert (await kinds(threads, umbrella.name)).count("subthread_terminal_reported") == 5


async def test_any_done_waits_for_what_executes_and_for_nothing_else(threads: Client) -> None:
    umbrella = await family(threads, *(child(str(n)) for n in range(4)), cascade_policy=ANY_DONE)
    cards = await children_of(threads, umbrella.name)
    await threads.accept(cards[0].name, cards[0])
    await threads.accept(cards[1].name, cards[1])
    await threads.execute()
    states = await ended(threads, umbrella.name, *(card.name for card in cards))
    assert states.count("executing") == 1
    assert (states[0], states[3:]) == ("monitoring", ["dismissed", "dismissed"])
    with pytest.raises(NotAllowed) as refused:
        await decompose(threads, umbrella.name, "one more")
    assert refused.value.reason == "POLICY_MET"
    assert "stop executing" in (await explain(threads, umbrella.name)).summary
    await threads.execute(success=False)
    states = await ended(threads, umbrella.name, *(card.name for card in cards))
    assert states[0] == "done"
    assert sorted(states[1:]) == ["dismissed", "dismissed", "dismissed", "done"]


async def test_a_quorum_that_cannot_be_met_any_more_waits_for_all(threads: Client) -> None:
    umbrella = await family(threads, *(child(str(n)) for n in range(3)), cascade_policy=quorum(3))
    cards = await children_of(threads, umbrella.name)
    await dismiss(threads, cards[0].name)
    await finish(threads, cards[1])
    assert await threads.state(umbrella.name) == "monitoring"
    await dismiss(threads, cards[2].name)
    assert await threads.state(umbrella.name) == "done"


@pytest.mark.parametrize("n", [0, 4, -1])
async def test_a_quorum_of_none_or_of_more_than_there_are_is_refused(threads: Client, n: int) -> None:
    with pytest.raises(Invalid):
        await family(threads, *(child(str(number)) for number in range(3)), cascade_policy=quorum(n))


async def test_a_policy_met_deep_below_closes_through_the_middle(threads: Client) -> None:
    outer = await family(threads, child("a"), cascade_policy=ANY_DONE)
    inner = await family(threads, child("b"), child("c"), parent_id=outer.id)
    b, c = await children_of(threads, inner.name)
    await threads.accept(b.name, b)
    (a, _) = await children_of(threads, outer.name)
    await threads.accept(a.name, a)
    first, second = await threads.take(), await threads.take()
    jobs = {job.thread: job for job in (first, second)}
    for job in jobs.values():
        await threads.start(job)
    await threads.complete(jobs[a.name], {"success": True})
    names = (outer.name, inner.name, a.name, b.name, c.name)
    assert await ended(threads, *names) == ["monitoring", "monitoring", "done", "executing", "dismissed"]
    with pytest.raises(NotAllowed):
        await decompose(threads, inner.name, "more")
    await threads.fail(jobs[b.name], "action_failed")
    assert await ended(threads, *names) == ["done", "dismissed", "done", "dismissed", "dismissed"]


async def test_an_unknown_parent_is_not_found(threads: Client) -> None:
    with pytest.raises(NotFound):
        await family(threads, child("x"), parent_id="thr_" + "0" * 32)


async def test_a_policy_that_ended_children_meet_already_is_refused(threads: Client) -> None:
    umbrella = await family(threads, child("one"), child("two"))
    one, _ = await children_of(threads, umbrella.name)
    await finish(threads, one)
    with pytest.raises(NotAllowed) as refused:
        await decompose(threads, umbrella.name, "three", cascade_policy=ANY_DONE)
    assert refused.value.reason == "POLICY_MET"
    await decompose(threads, umbrella.name, "three", cascade_policy=quorum(3))
    assert (await threads.get(umbrella.name)).cascade_policy.n == 3
