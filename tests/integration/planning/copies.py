"""Planning's use cases on Postgres, and beside them a model in which every session has a full copy of everything."""

from __future__ import annotations

import random
from collections.abc import Awaitable
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import pytest

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
from services.planning.application.comparing import Comparing, Wanted
from services.planning.application.documents import Documents
from services.planning.application.driving import Driving
from services.planning.application.objectives import Objectives
from services.planning.application.plans import Planned, Plans
from services.planning.application.telling import Telling
from services.planning.application.turning import Turning
from services.planning.domain import numbering
from services.planning.domain.branch import Branch
from services.planning.domain.snapshot import Snapshot

ADA = Principal("acme", "ada", "user", frozenset({"reviewer"}))


@dataclass
class Chat:
    """A session of the model: what it is, and what it was when each of its turns began."""

    id: str
    objective: str = ""
    steps: list[tuple[str, int, str, bool]] = field(default_factory=list)
    documents: dict[str, tuple[str, bool]] = field(default_factory=dict)
    kept: list[Any] = field(default_factory=list)
    told: dict[int, str] = field(default_factory=dict)
    running: bool = False

    @property
    def agent(self) -> Command:
        """A command of its agent."""
        return Command(Principal("acme", self.id, "agent", frozenset({"agent"})), self.id, "", b"")

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


async def refused(reason: str, call: Awaitable[object]) -> None:
    """It is, for this reason."""
    with pytest.raises(Refusal) as caught:
        await call
    assert caught.value.reason == reason


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
        self.comparing = Comparing(workshop, self.reads, clock, new_id)
        self.telling = Telling(workshop, self.reads, clock)
        self.driving = Driving(workshop, Obliging(), clock)
        self.chats: list[Chat] = []

    async def open(self) -> None:
        """One more session."""
        chat = Chat(new_id("ses"))
        await self.turning.ensure("acme", chat.id)
        self.chats.append(chat)

    async def do(self, op: tuple[Any, ...]) -> None:
        """One step, in both; afterwards the session is what the model says, at every turn."""
        if not self.chats:
            await self.open()
        chat = self.chats[op[1] % len(self.chats)]
        command = Command(ADA, chat.id, "", b"")
        match op[0], *op[2:]:
            case ("turn",):
                chat.kept.append(chat.now())
                chat.running = True
                await self.turning.begin("acme", chat.id, len(chat.kept), new_id("trn"), "user:ada")
            case ("again",) if chat.kept and chat.running:
                turn_id = (await self.reads.live("acme", chat.id)).workspace.turn_id
                await self.turning.begin("acme", chat.id, len(chat.kept), turn_id, "user:ada")
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
            case ("write", key, text):
                await self._write(chat, key, text)
            case ("drop", key):
                if key in chat.documents:
                    await self.documents.delete(command, key, "")
                    del chat.documents[key]
                else:
                    await refused("DOCUMENT_NOT_FOUND", self.documents.delete(command, key, ""))
            case ("tell",):
                await self._tell(chat)
            case ("pick", other):
                await self._pick(chat, command, self.chats[other % len(self.chats)])
            case ("lock", key, locked) if key in chat.documents:
                await self.documents.lock(command, key, locked)
                chat.documents[key] = (chat.documents[key][0], locked)
            case ("add" | "toggle" | "remove" | "move" | "reorder", *_):
                await self._plan(chat, command, op)
            case ("branch", turn):
                await self._branch(chat, command, turn)
            case ("delete",):
                async with self.workshop.work() as work:
                    await turning.delete(work, "acme", chat.id, "user:ada", self.clock.now())
                self.chats.remove(chat)
                await self.check()
        if chat in self.chats:
            await self.check_one(chat)

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
                case ("reorder", seed):
                    ids = [one.id for one in (await self.reads.live("acme", chat.id)).steps]
                    random.Random(seed).shuffle(ids)
                    planned = await self.plans.reorder(command, ids, None)
                case (_, index, after):
                    planned = await self.plans.move(command, index, after, None, None)
        except (Invalid, NotAllowed):
            return  # a bad index, or a person who moves steps under an agent at work
        _take(chat, planned)

    async def _pick(self, chat: Chat, command: Command, other: Chat) -> None:
        """Everything that the other one has otherwise, objective and all; afterwards they do not differ."""
        if other is chat:
            return
        changes = (await self.comparing.diff("acme", chat.id, other.id)).changes
        named = [one.origin_id for one in changes]
        try:
            _take(chat, await self.comparing.pick(command, Wanted(other.id, named, objective=True)))
        except NotAllowed:
            return  # steps would move under an agent at work, or a parent under its own sub-step
        chat.objective = other.objective
        assert not (await self.comparing.diff("acme", chat.id, other.id)).changes

    async def _write(self, chat: Chat, key: str, text: str) -> None:
        """Its agent writes a document, if it may."""
        writing = self.documents.put(chat.agent, key, text, "")
        if not chat.running:
            await refused("TURN_ENDED", writing)
        elif chat.documents.get(key, ("", False))[1]:
            await refused("DOCUMENT_LOCKED", writing)
        else:
            await writing
            chat.documents[key] = (text, False)

    async def _tell(self, chat: Chat) -> None:
        turn = len(chat.kept)
        if not chat.running:
            await refused("TURN_ENDED", self.telling.compose(chat.agent.caller, chat.id, ""))
            return
        told = await self.telling.compose(chat.agent.caller, chat.id, "")
        assert told.turn == turn
        assert told.text == chat.told.get(turn, told.text), "the same turn gets the same bytes"
        if told.text:
            chat.told[turn] = told.text

    async def _branch(self, chat: Chat, command: Command, turn: int) -> None:
        wanted = chat.restored(turn)
        if isinstance(wanted, str):
            await refused(wanted, self.branching.branch(command, turn, True, ""))
            return
        made = (await self.branching.branch(command, turn, True, "")).branch
        assert made is not None
        await self.driving.drive(made)
        objective, steps, documents = deepcopy(wanted)
        kept = deepcopy(chat.kept[:turn])
        told = {number: text for number, text in chat.told.items() if number <= turn}
        self.chats.append(Chat(made.session_id, objective, steps, {row[0]: row[1:] for row in documents}, kept, told))

    async def check(self) -> None:
        """Every turn of every session is what the model says."""
        for chat in self.chats:
            await self.check_one(chat)
        await self._check_graphs()

    async def check_one(self, chat: Chat) -> None:
        """Restore's law at every turn, what was told there, and the live plan has no gap."""
        for turn in range(len(chat.kept) + 2):
            try:
                found = seen((await self.reads.restored("acme", chat.id, turn)).snapshot)
            except Refusal as refusal:
                found = refusal.reason
            assert found == chat.restored(turn)
            told = await self.reads.told("acme", chat.id, turn, "") if turn else None
            assert (told.text if told else None) == chat.told.get(turn)
        turns = await self.reads.turns("acme", chat.id, 0, 100)
        assert [one.turn.number for one in turns] == list(range(1, len(chat.kept) + 1))
        live = await self.reads.live("acme", chat.id)
        assert len({one.id for one in live.steps}) == len(chat.steps)
        assert numbering.numbers([one.depth for one in live.steps])[:1] in ([], ["1"])

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


def _take(chat: Chat, planned: Planned) -> None:
    chat.steps = [(one.origin_id, one.depth, one.text, one.done) for one in planned.steps]
