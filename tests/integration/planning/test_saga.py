"""The saga of a branch (P.3): whatever goes away between any two of its steps, it is finished, once, or given up."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext

import pytest

from services.kernel.clock import SystemClock
from services.kernel.errors import Invalid, NotAllowed, NotFound, Unavailable
from services.kernel.ids import new_id
from services.kernel.postgres import Database
from services.kernel.principal import Principal
from services.planning.adapters.work import PostgresWorkshop
from services.planning.application.acting import Command
from services.planning.application.branching import Branching
from services.planning.application.driving import Driving
from services.planning.domain.branch import Branch, Saga
from tests.integration.planning.client import Planning, refused, state, texts
from tests.integration.planning.conftest import Forks, StartReplica
from tests.integration.planning.test_branches import counts, delete, talk
from treadle.planning.v1 import planning_service_pb2 as pb

ADA = Principal("acme", "ada", "user", frozenset({"reviewer"}))


class Gone(BaseException):
    """The process is gone here: nothing after it happens, not even handlers of errors."""


class Dying:
    """Streaming's half as a port, which counts its effects, and a process that dies before or after any of them.
    `dies_at`: which of its moments."""

    def __init__(self, dies_at: int) -> None:
        self.dies_at = dies_at
        self.moment = 0
        self.sessions: dict[str, str] = {}

    def pass_by(self) -> None:
        """A moment at which the process may die."""
        self.moment += 1
        if self.moment == self.dies_at:
            raise Gone

    async def fork(self, branch: Branch) -> None:
        """Forks."""
        self.pass_by()
        self.sessions.setdefault(branch.session_id, "forking")
        self.pass_by()

    async def open(self, branch: Branch) -> None:
        """Opens."""
        self.pass_by()
        assert branch.session_id in self.sessions
        self.sessions[branch.session_id] = "open"
        self.pass_by()

    async def abandon(self, branch: Branch) -> None:
        """Drops."""
        self.pass_by()
        self.sessions.pop(branch.session_id, None)
        self.pass_by()


@pytest.mark.parametrize("dies_at", range(1, 6))
async def test_a_process_that_dies_between_any_two_steps_is_taken_over(
    planning: Planning, chat: str, database: Database, workshop: PostgresWorkshop, dies_at: int
) -> None:
    await planning.add(chat, "a")
    await talk(planning, chat, database, 1, 2)
    wanted = state(await planning.restore(chat, 1))
    clock, dying = SystemClock(), Dying(dies_at)
    command = Command(ADA, chat, new_id("req"), b"digest")
    made = (await Branching(workshop, clock, new_id).branch(command, 1, False, "")).branch
    assert made is not None
    with pytest.raises(Gone) if dies_at < 5 else nullcontext():
        await Driving(workshop, dying, clock).drive(made)
    async with refused("BRANCH_FORKING") if dies_at < 5 else nullcontext():
        await planning.add(made.session_id, "too early")
    again = Dying(0)
    again.sessions = dying.sessions
    async with workshop.work() as work:
        there = await work.branch("acme", made.session_id)
    assert there is not None
    finished = await Driving(workshop, again, clock).drive(there)
    assert finished.state is Saga.READY
    assert again.sessions == {made.session_id: "open"}
    repeated = await Branching(workshop, clock, new_id).branch(command, 1, False, "")
    assert repeated.session_id == made.session_id
    if dies_at < 5:
        assert state(await planning.restore(made.session_id, 1)) == wanted
    assert (await counts(database))["branches"] == 1


@pytest.mark.parametrize("dies_at", range(1, 4))
async def test_one_that_is_given_up_is_given_up_everywhere_also_after_a_crash(
    planning: Planning, chat: str, database: Database, workshop: PostgresWorkshop, dies_at: int
) -> None:
    await talk(planning, chat, database, 1, 2)
    before = await counts(database)
    clock, dying = SystemClock(), Dying(dies_at)
    made = (await Branching(workshop, clock, new_id).branch(Command(ADA, chat, "", b""), 1, False, "")).branch
    assert made is not None
    dying.sessions[made.session_id] = "forking"

    class Refusing(Dying):
        async def fork(self, branch: Branch) -> None:
            raise NotFound("TURN_NOT_FOUND", "there is no such turn")

    refusing = Refusing(dies_at)
    refusing.sessions = dying.sessions
    with pytest.raises(Gone) if dies_at < 3 else nullcontext():
        await Driving(workshop, refusing, clock).drive(made)
    async with workshop.work() as work:
        there = await work.branch("acme", made.session_id)
    assert there is not None
    finished = await Driving(workshop, refusing, clock).drive(there)
    assert (finished.state, finished.reason) == (Saga.FAILED, "TURN_NOT_FOUND")
    assert refusing.sessions == {}
    assert await counts(database) == {**before, "branches": 1}
    async with refused("SESSION_NOT_FOUND"):
        await planning.plan(made.session_id)


async def test_a_branch_waits_for_streaming_and_is_finished_by_whoever_is_there(
    start_replica: StartReplica, database: Database, forks: Forks
) -> None:
    planning = await start_replica()
    chat = await planning.open()
    await planning.add(chat, "a")
    await talk(planning, chat, database, 1)
    forks.fake.refusals["ForkSession"] = Unavailable("DOWN", "not now")
    made = await planning.branch(chat, 0)
    assert made.state == pb.Branch.STATE_FORKING
    branch = made.session_id
    assert texts(await planning.plan(branch)) == ["a"]
    for call in (planning.add(branch, "x"), planning.aim(branch, "x"), planning.begin(branch, 1)):
        async with refused("BRANCH_FORKING"):
            await call
    async with refused("BRANCH_FORKING"):
        await planning.branch(branch, 0, fork=True)
    assert planning.life is not None
    await planning.life.drain()
    other = await start_replica()
    forks.fake.refusals.clear()
    assert (await other.ready(branch)).state == pb.Branch.STATE_READY
    await other.add(branch, "x")
    await other.begin(branch, 1)
    assert forks.fake.asked["FinishFork"] == 1


async def test_bugs_of_streaming_put_a_branch_off_and_do_not_hold_up_the_others(
    planning: Planning, database: Database, forks: Forks
) -> None:
    chat = await planning.open()
    await talk(planning, chat, database, 1)
    forks.fake.refusals["FinishFork"] = RuntimeError("bug")
    stuck = (await planning.branch(chat, 0)).session_id
    async with refused("BRANCH_FORKING"):
        await planning.add(stuck, "x")
    forks.fake.refusals.clear()
    other = await planning.branch(chat, 0)
    assert other.state == pb.Branch.STATE_READY
    assert (await planning.ready(stuck)).state == pb.Branch.STATE_READY


async def test_a_step_that_is_refused_for_good_leaves_nothing(
    planning: Planning, chat: str, database: Database, forks: Forks
) -> None:
    await talk(planning, chat, database, 1)
    before = await counts(database)
    for refusal in (
        NotFound("SESSION_NOT_FOUND", "no such origin"),
        NotAllowed("SESSION_DELETED", "deleted"),
        Invalid("INVALID_ARGUMENT", "bad"),
    ):
        forks.fake.refusals["ForkSession"] = refusal
        made = await planning.branch(chat, 0)
        assert (made.state, made.reason) == (pb.Branch.STATE_FAILED, refusal.reason)
        async with refused("SESSION_NOT_FOUND"):
            await planning.plan(made.session_id)
        assert made.session_id in forks.fake.abandoned
    assert await counts(database) == {**before, "branches": 3}
    listed = await planning.call("ListBranches", pb.ListBranchesRequest(parent=f"sessions/{chat}"))
    assert [one.state for one in listed.branches] == [pb.Branch.STATE_FAILED] * 3


async def test_a_branch_that_is_deleted_while_it_is_made_is_given_up(
    planning: Planning, chat: str, database: Database, forks: Forks
) -> None:
    await talk(planning, chat, database, 1)
    forks.fake.refusals["FinishFork"] = Unavailable("DOWN", "not now")
    branch = (await planning.branch(chat, 0)).session_id
    await delete(branch, database)
    forks.fake.refusals["FinishFork"] = NotFound("SESSION_NOT_FOUND", "gone")
    made = await planning.ready(branch)
    assert (made.state, made.reason) == (pb.Branch.STATE_FAILED, "SESSION_DELETED")


async def test_two_drivers_of_one_branch_do_no_harm(
    start_replica: StartReplica, database: Database, forks: Forks, workshop: PostgresWorkshop, rounds: int
) -> None:
    planning, other = await start_replica(), await start_replica()
    chat = await planning.open()
    await talk(planning, chat, database, 1)
    for _ in range(max(3, rounds // 4)):
        made = (
            await Branching(workshop, SystemClock(), new_id).branch(Command(ADA, chat, "", b""), 0, True, "")
        ).branch
        assert made is not None
        async with database.connection() as tx:
            await tx.raw.execute("UPDATE branches SET due_at = now() WHERE session_id = $1", made.session_id)
        drivers = [Driving(workshop, Dying(0), SystemClock()) for _ in range(2)]
        for driver in drivers:
            driver._conversations.sessions[made.session_id] = "forking"  # type: ignore[attr-defined]
        done = await asyncio.gather(*(driver.drive(made) for driver in drivers), return_exceptions=True)
        assert not [one for one in done if isinstance(one, BaseException)]
        assert (await other.ready(made.session_id)).state == pb.Branch.STATE_READY
