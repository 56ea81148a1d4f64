"""Appenders over a log that fails in every way: each event once, in order, dense (S.1, S.2, S.5)."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import orjson
import pytest

from services.kernel.errors import Conflict, Refusal
from services.streaming.application.agent_ports import Hold
from services.streaming.application.agents import AgentNews
from services.streaming.application.appenders import Appenders
from services.streaming.application.attaching import Attaching
from services.streaming.application.attachment import Attachment, Numbered
from services.streaming.application.gating import GateOutcome
from services.streaming.application.ports import SessionKey
from services.streaming.domain import agent_events
from services.streaming.domain.agent_events import AgentEvent
from services.streaming.domain.errors import lease_lost
from services.streaming.domain.log import Entry, Origin
from services.streaming.domain.turn_scan import TurnScan
from tests.unit.kernel_streams.fake_log import FakeLog, FakeStore, Trouble

KEY = SessionKey("default", "ses_1")
BAD = Trouble(lost_answer=0.04, never_came=0.04, comes_late=0.05, no_read=0.05)


def event(number: int) -> AgentEvent | None:
    """By its number: a tool, a piece of one of two blocks, a huge piece, or nothing that the allow-list leaves."""
    kind = random.Random(number).random()
    if kind < 0.3:
        return agent_events.tool(f"c{number}", "t", "running")
    if kind < 0.35:
        return None
    if kind < 0.4:
        return agent_events.delta("text_delta", f"<{number}>" + "é" * 120_000, 9)
    return agent_events.delta("text_delta", f"<{number}>", number // 7 % 2)


def said(numbers: range) -> str:
    """What the log must tell."""
    parts = []
    for number in numbers:
        match event(number):
            case agent_events.Delta(text=text):
                parts.append(text)
            case agent_events.Fixed():
                parts.append(f"<{number}>")
    return "".join(parts)


def told(log: FakeLog) -> str:
    """What the log tells."""
    parts = []
    for entry in log.entries:
        if entry.name == "tool":
            parts.append(f"<{orjson.loads(entry.line)['call_id'][1:]}>")
        elif entry.name == "text_delta":
            parts.append(orjson.loads(entry.line)["delta"])
    return "".join(parts)


class Silent:
    """Fills `TurnsHeld` where no turn is under way: what an agent says belongs to none."""

    async def attached(self, hold: Hold, taken: int) -> TurnScan:
        """Nothing was said."""
        return TurnScan()

    async def hear(self, hold: Hold, news: AgentNews, scan: TurnScan) -> GateOutcome | None:
        """Nobody is asked."""
        raise lease_lost(hold.job_id)

    async def said(self, hold: Hold) -> bool:
        """Noted."""
        return True


class Replica:
    """One replica's part in it."""

    def __init__(self, log: FakeLog, store: FakeStore) -> None:
        self.appenders = Appenders(log, store)
        self.attaching = Attaching(self.appenders, store, Silent())

    @asynccontextmanager
    async def attached(self, epoch: int) -> AsyncIterator[tuple[Attachment, asyncio.Task[None]]]:
        """A runner's hold, and the task that writes."""
        async with self.attaching.attach(Hold(KEY, "job_1", 1), epoch, 0) as attachment:
            writing = asyncio.create_task(attachment.write())
            try:
                yield attachment, writing
            finally:
                writing.cancel()
                with suppress(asyncio.CancelledError, Refusal):
                    await writing


async def send_all(replicas: list[Replica], total: int, chance: random.Random, breaks: float) -> None:
    """A runner that sends again what is not acknowledged, and whose Attach breaks now and then."""
    epoch, acked = 0, 0
    while acked < total:
        with suppress(Refusal):
            async with chance.choice(replicas).attached(epoch) as (attachment, writing):
                epoch = attachment.epoch
                assert attachment.acked >= acked or breaks
                numbers = range(attachment.acked + 1, total + 1)
                for start in range(0, len(numbers), 40):
                    await attachment.offer(Numbered(n, event(n)) for n in numbers[start : start + 40])
                    if chance.random() < breaks:
                        break
                settled = asyncio.create_task(attachment.settled())
                patience = chance.random() * 0.2 if breaks else 20
                await asyncio.wait({settled, writing}, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
                settled.cancel()
                acked = attachment.acked


@pytest.mark.parametrize("seed", range(8))
async def test_whatever_fails_each_event_stands_once_and_in_order(seed: int) -> None:
    chance = random.Random(seed)
    log, store = FakeLog(chance, BAD), FakeStore()
    replicas = [Replica(log, store), Replica(log, store)]
    total = 400

    async def state_events() -> None:
        for number in range(30):
            store.say("turn", str(number))
            with suppress(Refusal):
                await chance.choice(replicas).appenders.flush(KEY)
            await asyncio.sleep(chance.random() * 0.03)

    async with asyncio.timeout(60):
        await asyncio.gather(send_all(replicas, total, chance, 0.3), state_events())
        log.trouble = Trouble()
        await asyncio.sleep(0.13)  # what comes late has come
        await replicas[0].appenders.flush(KEY)
    heard, wanted = told(log), said(range(1, total + 1))
    same = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(heard, wanted, strict=False)))
    assert heard == wanted, f"{len(heard)} of {len(wanted)} characters, the first {same} as wanted"
    turns = [entry.line.decode() for entry in log.entries if entry.name == "turn"]
    assert turns == [str(number) for number in range(30)]
    places = [(entry.generation, entry.n) for entry in log.entries]
    last = places[-1][0]
    kept = [n for generation, n in places if generation == last]
    assert kept == list(range(kept[0], kept[0] + len(kept)))
    assert places == sorted(set(places))


async def test_a_lost_log_gets_a_new_generation_and_no_id_twice() -> None:
    chance = random.Random(5)
    log, store = FakeLog(chance, Trouble()), FakeStore()
    replica = Replica(log, store)
    ids: set[tuple[int, int]] = set()
    for round_ in range(5):
        await replica.appenders.flush(KEY)
        store.say("turn", str(round_))
        await replica.appenders.flush(KEY)
        now = {(entry.generation, entry.n) for entry in log.entries}
        assert not ids & now
        ids |= now
        log.lose()
    assert [place for place in sorted(ids) if place[1] == 1] == [(generation, 1) for generation in range(1, 6)]


async def test_a_newer_attach_fences_the_older_one() -> None:
    chance = random.Random(4)
    log, store = FakeLog(chance, Trouble()), FakeStore()
    one, two = Replica(log, store), Replica(log, store)
    async with one.attached(0) as (older, older_writes), two.attached(0) as (newer, _):
        await newer.offer([Numbered(1, agent_events.tool("n1", "t", "running"))])
        await newer.settled()
        await older.offer([Numbered(1, agent_events.tool("o1", "t", "running"))])
        with pytest.raises(Conflict):
            await older_writes
    assert [entry.name for entry in log.entries] == ["status", "tool"]


async def test_the_numbering_of_a_runner_that_was_replaced_cannot_be_gone_on_with() -> None:
    log, store = FakeLog(random.Random(1), Trouble()), FakeStore()
    replica = Replica(log, store)
    async with replica.attached(0) as (first, _):
        epoch = first.epoch
    async with replica.attached(0) as (second, _):
        assert second.acked == 0
    with pytest.raises(Conflict):
        async with replica.attached(epoch):
            pass


async def test_an_append_of_an_earlier_attach_that_comes_late_is_not_said_again() -> None:
    log, store = FakeLog(random.Random(1), Trouble()), FakeStore()
    replica = Replica(log, store)
    async with replica.attached(0) as (first, _):
        epoch = first.epoch
    async with replica.attached(epoch) as (again, _):
        tail = log.entries[-1]
        line = agent_events.delta("text_delta", "onetwo", 0).lines()[0]
        late = Entry(0, 1, tail.n + 1, "r1.2.0", "text_delta", Origin(epoch, 1, 2, 0), line)
        log.store(late, tail.seq)
        words = ["one", "two", "three", "four"]
        await again.offer(Numbered(n, agent_events.delta("text_delta", word, 0)) for n, word in enumerate(words, 1))
        await again.settled()
    assert told(log) == "onetwothreefour"
    assert [entry.n for entry in log.entries] == [1, 2, 3]
