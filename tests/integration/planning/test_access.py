"""Who may do what: agents for their own session and turn, tenants apart, services for WorkspaceService."""

from __future__ import annotations

from services.kernel.ids import new_id
from services.kernel.postgres import Database
from tests.integration.planning.client import Planning, refused, token
from tests.integration.planning.test_snapshots import end
from treadle.planning.v1 import workspace_service_pb2 as internal


async def test_an_agent_acts_for_its_own_session_alone(planning: Planning, chat: str) -> None:
    other = await planning.open()
    await planning.begin(chat, 1)
    agent = planning.agent(other)
    for call in (
        agent.plan(chat),
        agent.add(chat, "x"),
        agent.aim(chat, "x"),
        agent.put(chat, "k", "x"),
        agent.restore(chat, 0),
        agent.graph(chat),
        agent.diff(other, chat),
        agent.compose(chat),
        agent.told(chat),
    ):
        async with refused("NOT_YOURS"):
            await call
    for theirs in (agent.branch(other, 0), agent.pick(other, chat, "x"), agent.reorder(other, [])):
        async with refused("ROLE_REQUIRED"):
            await theirs


async def test_an_agent_changes_the_plan_only_while_its_turn_is_under_way(
    planning: Planning, chat: str, database: Database
) -> None:
    agent = planning.agent(chat)
    async with refused("TURN_ENDED"):
        await agent.add(chat, "too early")
    first = await planning.begin(chat, 1)
    await agent.add(chat, "in time", turn_id=first)
    await end(database, chat)
    for call in (agent.add(chat, "late"), agent.aim(chat, "late"), planning.toggle(chat, 1, turn_id=first)):
        async with refused("TURN_ENDED"):
            await call
    second = await planning.begin(chat, 2)
    async with refused("TURN_ENDED"):
        await agent.add(chat, "of the turn before", turn_id=first)
    await agent.add(chat, "of this one", turn_id=second)
    assert (await agent.plan(chat)).version == 2


async def test_tenants_do_not_see_each_other(planning: Planning, chat: str) -> None:
    await planning.add(chat, "secret")
    foreign = planning.by(token("eve", "user", "admin", tenant="other"))
    for call in (
        foreign.plan(chat),
        foreign.add(chat, "x"),
        foreign.restore(chat, 0),
        foreign.branch(chat, 0),
        foreign.graph(chat),
    ):
        async with refused("SESSION_NOT_FOUND"):
            await call
    own = await planning.open(chat, "other")  # the same name in another tenant is another session
    assert own == chat
    mine = await planning.by(token("eve", "service", "reviewer", tenant="other")).plan(chat)
    assert mine.steps == []
    other = await planning.open()
    async with refused("SESSION_NOT_FOUND"):
        await foreign.diff(chat, other)
    async with refused("SESSION_NOT_FOUND"):
        await foreign.pick(chat, other, "o")


async def test_viewers_read_and_do_not_write(planning: Planning, chat: str) -> None:
    viewer = planning.by(token("vera", "user", "viewer"))
    await viewer.plan(chat)
    async with refused("ROLE_REQUIRED"):
        await viewer.add(chat, "x")


async def test_workspaces_and_turns_are_for_services(planning: Planning, chat: str) -> None:
    begin = internal.BeginTurnRequest(session_id=chat, number=1, turn_id=new_id("trn"))
    for caller in (planning, planning.agent(chat), planning.by(token("r", "user", "runner"))):
        async with refused("ROLE_REQUIRED"):
            await caller.internal("BeginTurn", begin)
        async with refused("ROLE_REQUIRED"):
            await caller.internal("EnsureWorkspace", internal.EnsureWorkspaceRequest(session_id=chat))
    for wrong in (
        internal.BeginTurnRequest(session_id=chat, number=0, turn_id=new_id("trn")),
        internal.BeginTurnRequest(session_id=chat, number=1, turn_id="t1"),
        internal.BeginTurnRequest(session_id="s1", number=1, turn_id=new_id("trn")),
    ):
        async with refused("INVALID_ARGUMENT"):
            await planning.streaming().internal("BeginTurn", wrong)
