"""PUB23: whatever can be written can be read, in one message of at most 4 MiB or in pages."""

from __future__ import annotations

from typing import Any

from google.protobuf.message import Message

from services.kernel.ids import new_id
from services.kernel.postgres import Database
from tests.integration.planning.client import Planning, refused
from tests.integration.planning.test_snapshots import end
from treadle.planning.v1 import planning_service_pb2 as pb

MESSAGE_MOST = 4 * 1024 * 1024
FACE = "\N{GRINNING FACE}"


async def _fill(planning: Planning, chat: str) -> None:
    """As much as there may be: 200 steps of 500 characters of four bytes, an objective, 2 MiB of documents."""
    await planning.aim(chat, FACE * 500)
    for _ in range(4):
        await planning.add(chat, *[FACE * 500] * 50)
    for at in range(8):
        await planning.put(chat, f"{'d' * 62}{at:02}", "\x01" * 256 * 1024)
    async with refused("DOCUMENTS_TOO_LARGE"):
        await planning.put(chat, "more", "x")


def _fits(answer: Message) -> Any:
    assert answer.ByteSize() < MESSAGE_MOST
    return answer


async def test_pub23_the_largest_workspace_is_read_restored_branched_and_compared(
    planning: Planning, chat: str, database: Database
) -> None:
    await _fill(planning, chat)
    plan = _fits(await planning.plan(chat))
    live = _fits(await planning.restore(chat, 0))
    assert (len(live.plan.steps), len(live.documents)) == (200, 8)
    await planning.begin(chat, 1)
    await end(database, chat)
    kept = _fits(await planning.restore(chat, 0))
    assert [one.content for one in kept.documents] == [one.content for one in live.documents]
    branch = (await planning.branch(chat, 0)).session_id
    assert len(_fits(await planning.restore(branch, 0)).documents) == 8
    edited = _fits(await planning.edit(branch, 1, "x" * 500))
    assert len(edited.steps) == 200
    for begin in range(0, 200, 50):
        edits = [pb.TodoEdit(index=begin + at + 1, text=f"{begin + at}" + FACE * 490) for at in range(50)]
        _fits(await planning.call("EditTodos", pb.EditTodosRequest(name=f"sessions/{branch}", edits=edits)))
    await planning.toggle(branch, *range(1, 201))
    diff = _fits(await planning.diff(chat, branch))
    assert [list(one.kinds) for one in diff.changes] == [["edited", "toggled"]] * 200
    taken = _fits(await planning.pick(chat, branch, *(one.origin_id for one in diff.changes)))
    assert taken.version == plan.version + 1
    listed = await planning.call("ListDocuments", pb.ListDocumentsRequest(parent=f"sessions/{chat}"))
    assert len(_fits(listed).documents) == 8


async def test_pub23_plans_that_share_nothing_are_compared(planning: Planning, chat: str) -> None:
    other = await planning.open()
    for one in (chat, other):
        await planning.aim(one, FACE * 500)
        for _ in range(4):
            await planning.add(one, *[FACE * 500] * 50)
    diff = _fits(await planning.diff(chat, other))
    assert [list(one.kinds) for one in diff.changes] == [["added"]] * 200 + [["removed"]] * 200


async def test_pub23_fifty_documents_of_fifty_thousand_bytes_are_too_many_and_forty_are_read(
    planning: Planning, chat: str, database: Database
) -> None:
    text = FACE * 12_500
    for at in range(41):
        await planning.put(chat, f"d{at}", text)
    async with refused("DOCUMENTS_TOO_LARGE"):
        await planning.put(chat, "d41", text)
    await planning.begin(chat, 1)
    await end(database, chat)
    assert len(_fits(await planning.restore(chat, 0)).documents) == 41
    assert len(_fits(await planning.restore(chat, 1)).documents) == 41


async def test_pub23_pub24_a_graph_of_1000_turns_and_50_branches_is_read_in_pages(
    planning: Planning, chat: str, database: Database
) -> None:
    await planning.aim(chat, FACE * 500)
    await planning.add(chat, *["s"] * 50)
    for turn in range(1, 751):
        await planning.begin(chat, turn)
        if turn % 10 == 0:
            await planning.agent(chat).toggle(chat, turn // 10 % 50 + 1)
    await end(database, chat)
    branches = [(await planning.branch(chat, turn, fork=True)).session_id for turn in range(15, 751, 15)]
    assert len(branches) == 50
    for at, branch in enumerate(branches):
        for turn in range(1, 6):
            await planning.begin(branch, (at + 1) * 15 + turn)
    nodes: dict[str, pb.Graph.Node] = {}
    page, pages = "", 0
    while True:
        graph = _fits(await planning.graph(branches[7], page_size=500, page_token=page))
        assert len(graph.nodes) <= 500
        assert graph.heads[0].session_id == chat
        assert len(graph.heads) == 51
        assert not nodes.keys() & {one.turn_id for one in graph.nodes}, "no node twice"
        nodes |= {one.turn_id: one for one in graph.nodes}
        page, pages = graph.next_page_token, pages + 1
        if pages == 1:
            late = await planning.begin(chat, 751)  # one more, while it is read
        if not page:
            break
    nodes.pop(late, None)
    assert (len(nodes), pages) == (1_000, 3)
    assert all(one.objective == FACE * 500 for one in nodes.values() if one.restorable)
    for node in nodes.values():
        parent = nodes.get(node.parent_turn_id)
        assert (parent.number + 1 if parent else 1) == node.number
    by_session: dict[str, int] = {}
    for node in nodes.values():
        by_session[node.session_id] = by_session.get(node.session_id, 0) + 1
    assert by_session == {chat: 750, **dict.fromkeys(branches, 5)}
    for wrong in ("x", new_id("trn"), graph.next_page_token + "x"):
        async with refused("INVALID_PAGE_TOKEN"):
            await planning.graph(chat, page_token=wrong)
    first = await planning.graph(chat, page_size=2)
    async with refused("INVALID_PAGE_TOKEN"):  # of another session's graph
        await planning.graph(branches[0], page_size=2, page_token=first.next_page_token)
    async with refused("INVALID_PAGE_SIZE"):
        await planning.graph(chat, page_size=-1)
    assert len((await planning.graph(chat, page_size=10**9)).nodes) == 500
