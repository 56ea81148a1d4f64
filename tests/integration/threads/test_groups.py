"""Columns: moves conserve items, deletions keep them, approvals answer one by one (golden scenarios 13 to 16)."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest

from services.kernel.errors import Invalid, NotAllowed, NotFound, Refusal
from services.kernel.postgres import Database
from services.threads.adapters.stored import verify
from tests.integration.threads.client import EXECUTION, Client, citation, told
from tests.integration.threads.conftest import StartThreads
from tests.integration.threads.family import GROUP, child, children_of, dismiss, family, moves
from treadle.threads.v1 import thread_service_pb2 as pb


def items(*ids: str) -> list[pb.ContextItem]:
    """Items with something in them."""
    return [
        pb.ContextItem(id=one, source="note", label=f"the {one}", payload_json=orjson.dumps({"n": one})) for one in ids
    ]


async def group(threads: Client, *columns: str, **fields: Any) -> tuple[pb.Thread, list[pb.Thread]]:
    """An umbrella; a column a word, an item a letter of it."""
    children = [child(f"column {number}", context_items=items(*word)) for number, word in enumerate(columns)]
    umbrella = await family(threads, *children, relationship=GROUP, **fields)
    return umbrella, await children_of(threads, umbrella.name)


async def move(threads: Client, source: pb.Thread, to: pb.Thread, *ids: str, **fields: str) -> pb.MoveItemResponse:
    request = pb.MoveItemRequest(name=source.name, dest_thread_id=to.id, item_ids=ids, **fields)
    return await told(threads.people.MoveItem(request))


async def words(threads: Client, umbrella: pb.Thread) -> list[str]:
    """The columns as `group` takes them."""
    return ["".join(item.id for item in one.context_items) for one in await children_of(threads, umbrella.name)]


async def etags(threads: Client, *cards: pb.Thread) -> list[str]:
    return [(await threads.get(card.name)).etag for card in cards]


async def sound(url: str) -> None:
    """Every log makes its row."""
    database = await Database.open(url, "test")
    try:
        assert await verify(database) == []
    finally:
        await database.close()


async def test_golden_13_a_move_is_one_operation_with_linked_events_and_the_item_comes_last(
    threads: Client, database_url: str
) -> None:
    umbrella, (one, two) = await group(threads, "abc", "de")
    before = await etags(threads, umbrella)
    done = await move(threads, one, two, "c", "a", request_id="m1")
    assert await move(threads, one, two, "c", "a", request_id="m1") == done
    assert await words(threads, umbrella) == ["b", "deca"]
    assert [(item.id, item.display_index, item.label) for item in done.items] == [("c", 3, "the c"), ("a", 4, "the a")]
    for card, direction in ((one, "out"), (two, "in")):
        log = await told(threads.people.ListThreadEvents(pb.ListThreadEventsRequest(name=card.name, page_size=1000)))
        moved = [event for event in log.events if event.kind == "context_item_moved"]
        assert {event.migration_id for event in moved} == {done.migration_id}
        told_of = [orjson.loads(event.data_json) for event in moved]
        assert [(data["direction"], data["item_id"]) for data in told_of] == [(direction, "c"), (direction, "a")]
        assert {data["umbrella_id"] for data in told_of} == {umbrella.id}
    assert await etags(threads, umbrella) == before
    assert (await threads.get(two.name)).state == two.state
    single = pb.MoveItemRequest(name=two.name, dest_thread_id=one.id, item_id="d")
    assert (await told(threads.people.MoveItem(single))).item.id == "d"
    await sound(database_url)


async def test_golden_13_every_refusal_of_a_move_writes_nothing(threads: Client, database_url: str) -> None:
    umbrella, (one, two, three) = await group(threads, "ab", "cb", "x")
    other, (four,) = await group(threads, "z")
    singular = await family(threads, child(), child())
    five, six = await children_of(threads, singular.name)
    root = await threads.to_gate(context_items=items("r"))
    await dismiss(threads, three.name)
    cards = [umbrella, one, two, three, other, four, five, six, root]
    before = await etags(threads, *cards)
    for source, to, ids, kind, reason in (
        (one, one, "a", Invalid, "SAME_THREAD"),
        (pb.Thread(name="threads/thr_" + "0" * 32), two, "a", NotFound, "THREAD_NOT_FOUND"),
        (one, pb.Thread(id="thr_none"), "a", NotFound, "THREAD_NOT_FOUND"),
        (root, two, "r", NotAllowed, "NO_UMBRELLA"),
        (one, root, "a", NotAllowed, "NO_UMBRELLA"),
        (one, four, "a", NotAllowed, "CROSS_UMBRELLA"),
        (five, six, "a", NotAllowed, "WRONG_RELATIONSHIP"),
        (one, two, "q", NotFound, "ITEM_NOT_PRESENT"),
        (one, two, "aq", NotFound, "ITEM_NOT_PRESENT"),
        (one, two, "ab", NotAllowed, "ITEM_ALREADY_THERE"),
        (one, two, "aa", Invalid, "INVALID_ITEMS"),
        (one, two, "", Invalid, "INVALID_FIELD"),
        (one, three, "a", NotAllowed, "INVALID_TRANSITION"),
        (three, one, "x", NotAllowed, "INVALID_TRANSITION"),
    ):
        with pytest.raises(kind) as refused:
            await move(threads, source, to, *ids)
        assert refused.value.reason == reason
    await told(threads.people.AcceptThread(pb.AcceptThreadRequest(name=two.name, **citation(two))))
    for source, to, ids in ((one, two, "a"), (two, one, "c")):
        with pytest.raises(NotAllowed):
            await move(threads, source, to, *ids)
    after = await etags(threads, *cards)
    assert [now for now, card in zip(after, cards, strict=True) if card is not two] == [
        was for was, card in zip(before, cards, strict=True) if card is not two
    ]
    assert await words(threads, umbrella) == ["ab", "cb", "x"]
    await sound(database_url)


async def test_pub23_a_column_never_gets_more_than_can_be_shown(threads: Client) -> None:
    many = [pb.ContextItem(id=f"i{number}") for number in range(200)]
    umbrella = await family(threads, child(context_items=many), child(context_items=items("a")), relationship=GROUP)
    full, other = await children_of(threads, umbrella.name)
    with pytest.raises(Invalid) as refused:
        await move(threads, other, full, "a")
    assert refused.value.metadata["limit"] == "200"
    await move(threads, full, other, *(f"i{number}" for number in range(100)))
    assert len((await threads.get(other.name)).context_items) == 101


async def test_golden_13_eight_parallel_moves_conserve_items_and_opposite_ones_never_deadlock(
    start_threads: StartThreads, database_url: str, rounds: int
) -> None:
    replicas = [await start_threads(), await start_threads()]
    letters = "abcdefghijklmnop"
    umbrella, columns = await group(replicas[0], letters[:8], letters[8:])

    async def attempt(threads: Client, source: pb.Thread, to: pb.Thread, *ids: str) -> bool:
        try:
            await move(threads, source, to, *ids)
        except NotFound:
            return False
        return True

    for number in range(max(3, rounds // 5)):
        one, two = columns if number % 2 else columns[::-1]
        here = [item.id for item in (await replicas[0].get(one.name)).context_items]
        there = [item.id for item in (await replicas[0].get(two.name)).context_items]
        won = await asyncio.gather(
            *(attempt(replicas[at % 2], one, two, here[at % 2]) for at in range(4)),
            *(attempt(replicas[at % 2], two, one, there[0], there[1]) for at in range(4)),
        )
        assert (sum(won[:4]), sum(won[4:])) == (2, 1)
        assert sorted("".join(await words(replicas[0], umbrella))) == list(letters)
    await sound(database_url)


async def test_golden_16_an_empty_column_is_added_at_the_end_and_only_to_an_open_group(threads: Client) -> None:
    root = await threads.to_gate()
    umbrella, (one, _) = await group(threads, "a", "b")
    for label, title in (("  News ", "News"), ("   ", "New group"), ("", "New group")):
        request = pb.SpawnEmptyGroupRequest(name=umbrella.name, label=label)
        column = await told(threads.people.SpawnEmptyGroup(request))
        assert (column.title, column.parent_id, len(column.context_items)) == (title, umbrella.id, 0)
    after = await threads.get(umbrella.name)
    assert (after.sub_thread_count, after.open_children) == (5, 5)
    assert [card.title for card in await children_of(threads, umbrella.name)][2:] == ["News", "New group", "New group"]
    spawned = [data for kind, data in await threads.events(umbrella.name) if kind == "groups_spawned"]
    assert [data.get("user_created") for data in spawned] == [None, True, True, True]
    await move(threads, one, column, "a")
    for name in (root.name, (await family(threads, child())).name, column.name):
        with pytest.raises(NotAllowed):
            await told(threads.people.SpawnEmptyGroup(pb.SpawnEmptyGroupRequest(name=name)))
    with pytest.raises(Invalid):
        await told(threads.people.SpawnEmptyGroup(pb.SpawnEmptyGroupRequest(name=umbrella.name, label="x" * 201)))
    await dismiss(threads, umbrella.name)
    with pytest.raises(Refusal):
        await told(threads.people.SpawnEmptyGroup(pb.SpawnEmptyGroupRequest(name=umbrella.name)))


async def delete(threads: Client, name: str) -> pb.DeleteGroupSubthreadResponse:
    return await told(threads.people.DeleteGroupSubthread(pb.DeleteGroupSubthreadRequest(name=name)))


async def test_golden_15_a_deleted_column_keeps_its_items_and_the_umbrella_lists_them(
    threads: Client, database_url: str
) -> None:
    umbrella, (one, two) = await group(threads, "abc", "d")
    for _ in range(2):
        gone = await delete(threads, one.name)
        assert (gone.dismissed, gone.umbrella_id) == (one.id, umbrella.id)
    card = await threads.get(one.name)
    assert (card.state, [item.id for item in card.context_items]) == (pb.Thread.STATE_DISMISSED, ["a", "b", "c"])
    (deleted,) = [data for kind, data in await threads.events(umbrella.name) if kind == "group_deleted"]
    assert deleted == {"deleted_child_id": one.id, "had_items": 3, "item_ids": ["a", "b", "c"]}
    assert await threads.state(umbrella.name) == "monitoring"
    await delete(threads, two.name)
    assert await threads.state(umbrella.name) == "done"
    assert (await delete(threads, two.name)).dismissed == two.id
    await sound(database_url)


async def test_golden_15_a_column_that_executes_or_is_none_is_not_deleted(threads: Client) -> None:
    umbrella, (one, two) = await group(threads, "a", "b")
    await told(threads.people.AcceptThread(pb.AcceptThreadRequest(name=one.name, **citation(one))))
    before = await etags(threads, umbrella, one)
    with pytest.raises(Refusal):
        await delete(threads, one.name)
    assert await etags(threads, umbrella, one) == before
    root = await threads.to_gate()
    (only,) = await children_of(threads, (await family(threads, child())).name)
    for card, reason in ((root, "NO_UMBRELLA"), (umbrella, "NO_UMBRELLA"), (only, "WRONG_RELATIONSHIP")):
        with pytest.raises(NotAllowed) as refused:
            await delete(threads, card.name)
        assert refused.value.reason == reason
    await threads.execute()
    await delete(threads, one.name)
    assert await threads.state(one.name) == "done"
    assert await threads.state(two.name) == "awaiting_confirmation"


async def approve_all(
    threads: Client, name: str, *cited: pb.CitedProposal, request_id: str = ""
) -> pb.ApproveAllResponse:
    return await told(threads.people.ApproveAll(pb.ApproveAllRequest(name=name, items=cited, request_id=request_id)))


async def test_golden_14_approve_all_approves_what_stands_once_and_answers_for_each_column(threads: Client) -> None:
    umbrella, (one, two, three, four) = await group(threads, "a", "b", "c", "d")
    await dismiss(threads, three.name)
    await told(threads.people.SetActionProposal(pb.SetActionProposalRequest(name=four.name)))
    done = await approve_all(threads, umbrella.name, request_id="all")
    assert (list(done.approved), list(done.skipped_terminal)) == ([one.id, two.id], [three.id])
    assert [(failed.thread_id, failed.code) for failed in done.failed] == [(four.id, "NO_PROPOSAL")]
    assert await approve_all(threads, umbrella.name, request_id="all") == done
    again = await approve_all(threads, umbrella.name)
    assert (list(again.approved), list(again.skipped_terminal)) == ([], [three.id])
    assert len(await threads.claim(EXECUTION, wait=0, most=9)) == 2
    for card in (one, two):
        assert (await moves(threads, card.name)).count(("execute", "executing")) == 1


async def test_golden_14_approve_all_takes_what_was_looked_at_and_nothing_that_came_since(threads: Client) -> None:
    umbrella, (one, two) = await group(threads, "a", "b")
    stranger = await threads.to_gate()
    cited = [pb.CitedProposal(thread_id=card.id, **citation(card)) for card in (one, two, stranger)]
    pick = pb.SetActionProposalRequest(
        name=two.name, capability_name="task_create", parameters_json=b'{"task_text": "something else"}'
    )
    await told(threads.people.SetActionProposal(pick))
    done = await approve_all(threads, umbrella.name, *cited)
    assert list(done.approved) == [one.id]
    assert [failed.code for failed in done.failed] == ["ALREADY_DECIDED", "CROSS_UMBRELLA"]
    assert await threads.state(stranger.name) == "awaiting_confirmation"
    for wrong in ([cited[0], cited[0]], [pb.CitedProposal(thread_id=one.id, decision="dismiss")], [cited[0]] * 1001):
        with pytest.raises(Invalid):
            await approve_all(threads, umbrella.name, *wrong)
    with pytest.raises(NotAllowed):
        await approve_all(threads, (await family(threads, child())).name)


async def test_the_columns_are_listed_with_ended_ones_and_a_menu(threads: Client) -> None:
    umbrella, (one, two, three) = await group(threads, "a", "b", "c")
    await dismiss(threads, two.name)
    ids: list[str] = []
    token = ""
    while True:
        page = await told(
            threads.people.ListGroups(pb.ListGroupsRequest(name=umbrella.name, page_size=2, page_token=token))
        )
        ids += [card.id for card in page.groups]
        assert (page.umbrella_id, page.source) == (umbrella.id, "note")
        assert [option.capability_name for option in page.action_options][:3] == [
            "thread_defer",
            "thread_dismiss",
            "thread_rename",
        ]
        if not (token := page.next_page_token):
            break
    assert ids == [one.id, two.id, three.id]
    with pytest.raises(NotAllowed) as refused:
        await told(threads.people.ListGroups(pb.ListGroupsRequest(name=one.name)))
    assert refused.value.reason == "WRONG_RELATIONSHIP"


async def test_search_follows_a_moved_item(threads: Client) -> None:
    _, (one, two) = await group(threads, "a", "b")

    async def found(said: str) -> list[str]:
        page = await told(threads.people.ListThreads(pb.ListThreadsRequest(q=said)))
        return [card.id for card in page.threads]

    assert await found("the a") == [one.id]
    await move(threads, one, two, "a")
    assert await found("the a") == [two.id]
