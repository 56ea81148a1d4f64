"""Any sequence of edits, turns, branches (of branches of branches) and deletions does what a model says in which every
session has a full copy of everything: what sessions share is never seen (I6, C6's laws, C8-27)."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from services.kernel.clock import SystemClock
from services.kernel.errors import Invalid, NotAllowed, Refusal
from services.kernel.ids import new_id
from services.kernel.postgres import Database
from services.kernel.principal import Principal
from services.planning.adapters.reads import PostgresReads
from services.planning.adapters.work import PostgresWorkshop
from services.planning.application import turning
from services.planning.application.acting import Command
from services.planning.application.branching import Branching
from services.planning.application.documents import Documents
from services.planning.application.driving import Driving
from services.planning.application.objectives import Objectives
from services.planning.application.plans import Plans
from services.planning.application.turning import Turning
from services.planning.domain import numbering
from services.planning.domain.branch import Branch
from services.planning.domain.snapshot import Snapshot
from tests.integration.planning.test_branches import counts

ADA = Principal("acme", "ada", "user", frozenset({"reviewer"}))
who = st.integers(0, 5)
at = st.integers(1, 6)
OPS = st.one_of(
    st.tuples(st.just("turn"), who),
    st.tuples(st.just("turn"), who),
    st.tuples(st.just("end"), who),
    st.tuples(st.just("add"), who, st.integers(0, 5)),
    st.tuples(st.just("toggle"), who, at),
    st.tuples(st.just("remove"), who, at),
    st.tuples(st.just("move"), who, at, st.integers(0, 5)),
    st.tuples(st.just("aim"), who, st.sampled_from(["", "goal", "other"])),
    st.tuples(st.just("put"), who, st.sampled_from(["x", "y"]), st.sampled_from(["", "text", "more"])),
    st.tuples(st.just("lock"), who, st.sampled_from(["x", "y"]), st.booleans()),
    st.tuples(st.just("branch"), who, st.integers(0, 4)),
    st.tuples(st.just("branch"), who, st.integers(0, 4)),
    st.tuples(st.just("delete"), who),
)


@dataclass
class Chat:
    """A session of the model: what it is, and what it was when each of its turns began."""

    id: str
    objective: str = ""
    steps: list[tuple[str, int, str, bool]] = field(default_factory=list)
    documents: dict[str, tuple[str, bool]] = field(default_factory=dict)
    kept: list[Any] = field(default_factory=list)
    running: bool = False

    def now(self) -> Any:
        """As `seen` says it."""
        return deepcopy((self.objective, self.steps, [(key, *value) for key, value in self.documents.items()]))

    def restored(self, turn: int) -> Any:
        """What going on from the turn begins with; a reason where one cannot."""
        if turn > len(self.kept):
            return "TURN_NOT_FOUND"
        if turn < len(self.kept):
            return self.kept[turn]
        return "TURN_IN_PROGRESS" if self.running and turn else self.now()


def seen(snapshot: Snapshot) -> Any:
    """A snapshot as the model has it."""
    return (
        snapshot.objective,
        [(one.origin_id, one.depth, one.text, one.done) for one in snapshot.steps],
        [(one.key, one.content, one.locked) for one in snapshot.documents],
    )


class Obliging:
    """Streaming's half of branches, which never fails."""

    async def fork(self, branch: Branch) -> None: ...

    async def open(self, branch: Branch) -> None: ...

    async def abandon(self, branch: Branch) -> None: ...


class House:
    """The use cases on Postgres, and the model beside them."""

    def __init__(self, database: Database, workshop: PostgresWorkshop) -> None:
        clock = SystemClock()
        self.clock, self.workshop, self.database = clock, workshop, database
        self.reads = PostgresReads(database)
        self.plans, self.objectives = Plans(workshop, clock, new_id), Objectives(workshop, clock)
        self.documents, self.turning = Documents(workshop, clock), Turning(workshop, clock)
        self.branching = Branching(workshop, clock, new_id)
        self.driving = Driving(workshop, Obliging(), clock)
        self.chats: list[Chat] = []

    async def open(self) -> None:
        """One more session."""
        chat = Chat(new_id("ses"))
        await self.turning.ensure("acme", chat.id)
        self.chats.append(chat)

    async def do(self, op: tuple[Any, ...]) -> None:
        """One step, in both."""
        if not self.chats:
            await self.open()
        chat = self.chats[op[1] % len(self.chats)]
        command = Command(ADA, chat.id, "", b"")
        match op[0], *op[2:]:
            case ("turn",):
                chat.kept.append(chat.now())
                chat.running = True
                await self.turning.begin("acme", chat.id, len(chat.kept), new_id("trn"), "user:ada")
            case ("end",) if chat.running:
                live = await self.reads.live("acme", chat.id)
                async with self.workshop.work() as work:
                    turn_id = live.workspace.turn_id
                    await turning.end_turn(work, "acme", chat.id, turn_id, "ok", self.clock.now())
                chat.running = False
            case ("aim", text):
                await self.objectives.set(command, text, False, "")
                chat.objective = text
            case ("put", key, text):
                await self.documents.put(command, key, text, "")
                chat.documents[key] = (text, chat.documents.get(key, ("", False))[1])
            case ("lock", key, locked) if key in chat.documents:
                await self.documents.lock(command, key, locked)
                chat.documents[key] = (chat.documents[key][0], locked)
            case ("add" | "toggle" | "remove" | "move", *_):
                await self._plan(chat, command, op)
            case ("branch", turn):
                await self._branch(chat, command, turn)
            case ("delete",):
                async with self.workshop.work() as work:
                    await turning.delete(work, "acme", chat.id, "user:ada", self.clock.now())
                self.chats.remove(chat)

    async def _plan(self, chat: Chat, command: Command, op: tuple[Any, ...]) -> None:
        """Plans have laws of their own (tests/unit/planning): the model takes over what they answer."""
        try:
            match op[0], *op[2:]:
                case ("add", under):
                    text = f"step {len(chat.steps)}"
                    planned = await self.plans.add(command, [text], under or None, None)
                case ("toggle", index):
                    planned = await self.plans.toggle(command, [index], None, None)
                case ("remove", index):
                    planned = await self.plans.remove(command, [index], None)
                case (_, index, after):
                    planned = await self.plans.move(command, index, after, None, None)
        except (Invalid, NotAllowed):
            return  # a bad index, or a person who moves steps under an agent at work
        chat.steps = [(one.origin_id, one.depth, one.text, one.done) for one in planned.steps]

    async def _branch(self, chat: Chat, command: Command, turn: int) -> None:
        wanted = chat.restored(turn)
        if isinstance(wanted, str):
            with pytest.raises(Refusal) as caught:
                await self.branching.branch(command, turn, True, "")
            assert caught.value.reason == wanted
            return
        made = (await self.branching.branch(command, turn, True, "")).branch
        assert made is not None
        await self.driving.drive(made)
        objective, steps, documents = deepcopy(wanted)
        kept = deepcopy(chat.kept[:turn])
        self.chats.append(Chat(made.session_id, objective, steps, {row[0]: row[1:] for row in documents}, kept))

    async def check(self) -> None:
        """Every turn of every session is what the model says, and the live plan has no gap."""
        for chat in self.chats:
            for turn in range(len(chat.kept) + 2):
                try:
                    found = seen((await self.reads.restored("acme", chat.id, turn)).snapshot)
                except Refusal as refusal:
                    found = refusal.reason
                assert found == chat.restored(turn)
            turns = await self.reads.turns("acme", chat.id, 0, 100)
            assert [one.turn.number for one in turns] == list(range(1, len(chat.kept) + 1))
            live = await self.reads.live("acme", chat.id)
            assert len({one.id for one in live.steps}) == len(chat.steps)
            numbering.numbers([one.depth for one in live.steps])
        await self._check_graphs()

    async def _check_graphs(self) -> None:
        """The graphs draw each turn that somebody stands on once, behind another one."""
        families = {(await self.reads.live("acme", one.id)).workspace.family: one.id for one in self.chats}
        drawn: list[str] = []
        for one in families.values():
            graph = await self.reads.graph("acme", one, None, 500)
            ids = {node.turn.turn_id for node in graph.nodes}
            assert all(node.parent_turn_id in {"", *ids} for node in graph.nodes)
            drawn += [node.turn.turn_id for node in graph.nodes]
        stood_on = {
            seen.turn.turn_id for chat in self.chats for seen in await self.reads.turns("acme", chat.id, 0, 100)
        }
        assert sorted(drawn) == sorted(stood_on)


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(ops=st.lists(OPS, min_size=5, max_size=40))
async def test_any_sequence_is_as_if_everything_were_copied(
    database: Database, workshop: PostgresWorkshop, ops: list[tuple[Any, ...]]
) -> None:
    async with database.connection() as tx:
        await tx.raw.execute("TRUNCATE families, branches CASCADE")
    house = House(database, workshop)
    await house.open()
    for op in ops:
        await house.do(op)
    await house.check()
    for chat in list(house.chats):
        async with workshop.work() as work:
            await turning.delete(work, "acme", chat.id, "user:ada", house.clock.now())
    left = await counts(database)
    assert {name: left[name] for name in left if name != "branches"} == dict.fromkeys(
        (name for name in left if name != "branches"), 0
    )
