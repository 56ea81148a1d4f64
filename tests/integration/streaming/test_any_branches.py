"""Any sequence of turns, agents' states, branches (of branches of branches), deletions and purges shows what a model
says in which every branch has a full copy of its past: what sessions share is never seen (I5, I6, C6's laws)."""

from __future__ import annotations

import hashlib
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st

from services.kernel.bus import Bus
from services.kernel.postgres import Database
from services.kernel.verifying import examine
from services.streaming.adapters.agent_rows import PostgresAgents
from services.streaming.adapters.checks import CHECKS
from services.streaming.application.ports import SessionKey
from tests.emptied import emptied
from tests.integration.streaming.client import Streaming
from tests.integration.streaming.test_external import close_turn, open_turn
from tests.integration.streaming.test_forks import TABLES, Forker, copied, purged
from tests.integration.streaming.test_turn_records import turn_of
from tests.integration.streaming.test_turns import refused
from treadle.streaming.v1 import session_service_pb2 as pb

who = st.integers(0, 7)
ENDS = st.sampled_from([("ok", "words"), ("ok", ""), ("failed", ""), ("failed", "half"), ("aborted", "")])
OPS = st.one_of(
    st.tuples(st.just("turn"), who, ENDS),
    st.tuples(st.just("turn"), who, ENDS),
    st.tuples(st.just("state"), who, st.integers(0, 3)),
    st.tuples(st.just("branch"), who, st.integers(0, 6)),
    st.tuples(st.just("branch"), who, st.integers(0, 6)),
    st.tuples(st.just("copied"), who, st.integers(0, 6)),
    st.tuples(st.just("delete"), who),
    st.tuples(st.just("purge"), who),
)


@dataclass
class Past:
    """A turn of the model: how it ended, what was said, and the agent's state after it. The state may come late, once:
    then it is that of the turn in whatever session."""

    outcome: str
    texts: tuple[str, ...]
    state: bytes = b""


@dataclass
class Chat:
    """A session of the model, with a copy of everything."""

    name: str
    turns: list[Past] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    """Of its own turns and, as they are seen, of its past."""


class House:
    """The service, and the model beside it."""

    def __init__(self, streaming: Streaming, database: Database, bus: Bus) -> None:
        self.streaming, self.database, self.bus = streaming, database, bus
        self.forker = Forker(streaming)
        self.rows = PostgresAgents(database, timedelta(seconds=9))
        self.chats: list[Chat] = []
        self.gone: list[str] = []
        self.said = 0

    async def open(self) -> None:
        """One more conversation."""
        self.chats.append(Chat(await self.streaming.session(adapter="external")))

    async def do(self, op: tuple[Any, ...]) -> None:
        """One step, in both."""
        if not self.chats:
            await self.open()
        chat = self.chats[op[1] % len(self.chats)]
        match op[0], *op[2:]:
            case ("turn", (outcome, words)):
                await self._turn(chat, outcome, words)
            case ("state", content) if chat.turns and not chat.turns[-1].state and await self._own(chat):
                data = f"state {content}".encode()
                digest = hashlib.sha256(data).hexdigest()
                await self.rows.keep_state(_key(chat.name), chat.ids[-1], digest, data)
                chat.turns[-1].state = data
            case ("branch" | "copied", turn):
                await self._branch(chat, turn, copy=op[0] == "copied")
            case ("delete",):
                session = chat.name.removeprefix("sessions/")
                await self.streaming.sessions.BatchDeleteSessions(pb.BatchDeleteSessionsRequest(ids=[session]))
                self.chats.remove(chat)
                self.gone.append(chat.name)
            case ("purge",):
                await self.purge()

    async def purge(self) -> None:
        """What is deleted goes for good."""
        await purged(self.streaming, self.database, self.bus, *self.gone, deleted=True)
        self.gone.clear()

    async def check(self) -> None:
        """Every session is what the model says, whatever was deleted."""
        seen: set[str] = set()
        for chat in self.chats:
            expected = [(n, text) for n, past in enumerate(chat.turns, 1) for text in past.texts]
            messages = await self._messages(chat)
            assert [(one.turn, one.text) for one in messages] == expected
            assert [one.sequence for one in messages] == list(range(1, len(expected) + 1))
            for number, (turn_id, past) in enumerate(zip(chat.ids, chat.turns, strict=True), 1):
                turn = await turn_of(self.streaming, chat.name, turn_id)
                assert (turn.id, turn.number) == (turn_id, number)
                assert past.outcome == (turn.outcome or "failed")
                assert {one.turn_id for one in messages if one.turn == number} == {turn_id}
            assert not seen & {*chat.ids}
            seen |= {*chat.ids}
            await self._check_state(chat)
        assert not (await examine(self.database, CHECKS)).findings

    async def _turn(self, chat: Chat, outcome: str, words: str) -> None:
        self.said += 1
        asked, answer = f"ask {self.said}", f"{words} {self.said}" if words else ""
        chat.ids.append(await open_turn(self.streaming, chat.name, asked))
        await close_turn(self.streaming, chat.name, answer, outcome=outcome)
        chat.turns.append(Past(outcome, (asked, answer) if answer or outcome == "ok" else (asked,)))

    async def _own(self, chat: Chat) -> bool:
        """Whether the newest turn happened here: agents' states come up for such ones alone."""
        return not (await turn_of(self.streaming, chat.name)).origin_turn_id

    async def _branch(self, chat: Chat, turn: int, *, copy: bool) -> None:
        if turn > len(chat.turns):
            await refused(self.forker.fork(chat.name, turn), "TURN_NOT_FOUND")
            return
        made = await self.forker.ready(chat.name, turn)
        past = chat.turns[:turn]
        if copy and not await self._shares(chat):  # as code of before did, which knew no sharing origins
            await copied(self.database, made)
            past = deepcopy(past)
        branch = Chat(made.name, past)
        ids = {one.turn: one.turn_id for one in await self._messages(branch)}
        branch.ids = [ids[number] for number in range(1, turn + 1)]
        assert made.turn_id == (branch.ids[-1] if turn else "")
        self.chats.append(branch)

    async def _shares(self, chat: Chat) -> bool:
        async with self.database.connection() as tx:
            of = "SELECT count(*) FROM stretches WHERE session_id = $1"
            return bool(await tx.raw.fetchval(of, chat.name.removeprefix("sessions/")))

    async def _messages(self, chat: Chat) -> list[pb.Message]:
        found: list[pb.Message] = []
        token = ""
        while True:
            page = await self.streaming.sessions.ListMessages(
                pb.ListMessagesRequest(parent=chat.name, page_size=3, page_token=token)
            )
            found += page.messages
            token = page.next_page_token
            if not token:
                return found

    async def _check_state(self, chat: Chat) -> None:
        """An agent of a branch that is made now goes on from the newest state of that past."""
        wanted = next((past.state for past in reversed(chat.turns) if past.state), b"")
        made = await self.forker.fork(chat.name, len(chat.turns))
        async with self.database.connection() as tx:
            digest = await tx.raw.fetchval("SELECT agent_state FROM sessions WHERE id = $1", made.id)
        assert (await self.rows.state(_key(made.name), digest) or b"") == wanted
        await self.forker.abandon(made.name)
        self.gone.append(made.name)


@settings(
    max_examples=25,
    deadline=None,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),  # a shorter example is not worth minutes of a test's run
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(ops=st.lists(OPS, min_size=5, max_size=30))
async def test_any_sequence_is_as_if_every_past_were_copied(
    streaming: Streaming, database: Database, bus: Bus, ops: list[tuple[Any, ...]]
) -> None:
    await emptied(database, "sessions")
    house = House(streaming, database, bus)
    await house.open()
    note(repr(ops))
    for op in ops:
        await house.do(op)
    await house.check()
    await house.purge()
    await house.check()
    for chat in list(house.chats):
        await house.do(("delete", house.chats.index(chat)))
    await house.purge()
    async with database.connection() as tx:
        for table in (*TABLES, "stretches"):
            assert await tx.raw.fetchval(f"SELECT count(*) FROM {table}") == 0, table


def _key(name: str) -> SessionKey:
    return SessionKey("default", name.removeprefix("sessions/"))
