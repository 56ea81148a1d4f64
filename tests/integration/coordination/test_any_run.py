"""Whatever runners, people, clocks and sessions do to workers: ends stay and are told once; nothing runs twice."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from services.coordination.adapters.job_rows import PostgresRuns, PostgresRunWorkshop
from services.coordination.adapters.wake import Wake
from services.coordination.application.ending import SYSTEM
from services.coordination.application.expiring import Expiring
from services.coordination.application.forcing import Forcing
from services.coordination.application.hearing import Hearing
from services.coordination.application.last_words import LastWords
from services.coordination.application.reconciling import Reconciling
from services.coordination.application.run_ports import Leased, TurnSeen
from services.coordination.application.running import Beat, Running
from services.coordination.application.stopping import ask_stop
from services.coordination.domain.worker import STATUS_OF, Reason
from services.kernel.errors import Conflict
from services.kernel.ids import new_id
from services.kernel.postgres import Database, Row
from tests.emptied import emptied
from tests.integration.coordination.parts import OwnClock
from tests.integration.coordination.rows import TENANT, coordinator, worker
from tests.integration.coordination.runner_client import facts, lose

SOME = st.sampled_from([0, 0, 0, 0, 1, 1, 2, 3])
"""Mostly the same worker, so that something comes of it."""
STEPS = st.one_of(
    st.tuples(st.just("spawn"), st.integers(0, 20)),
    st.tuples(st.just("claim"), st.integers(1, 3)),
    st.tuples(st.just("claim"), st.just(3)),
    st.tuples(st.just("lose"), SOME),
    st.tuples(st.just("beat"), st.tuples(SOME, st.booleans(), st.booleans(), st.integers(0, 60))),
    st.tuples(st.just("report"), SOME),
    st.tuples(
        st.just("turn"), st.tuples(SOME, st.sampled_from(["running", "waiting", "ok", "failed", "failed", "aborted"]))
    ),
    st.tuples(st.just("lose"), SOME),
    st.tuples(st.just("give_back"), SOME),
    st.tuples(st.just("complete"), st.tuples(SOME, st.sampled_from([*Reason, "nonsense"]), st.booleans())),
    st.tuples(st.just("cancel"), SOME),
    st.tuples(st.just("pass_time"), st.sampled_from([1, 5, 31])),
    st.tuples(st.just("end_turn"), st.sampled_from(["ok", "ok", "aborted"])),
)


@dataclass
class Turns:
    """Workers' sessions in memory."""

    of: dict[str, TurnSeen] = field(default_factory=dict)

    async def turn_of(self, tenant: str, session_id: str) -> TurnSeen | None:
        return self.of.get(session_id)

    async def text_of(self, tenant: str, session_id: str, turn_id: str) -> str:
        return f"text of {session_id}" if self.of[session_id].said else ""

    async def said_so_far(self, tenant: str, session_id: str, turn_id: str) -> str:
        return await self.text_of(tenant, session_id, turn_id)

    async def prompt(self, tenant: str, session_id: str, text: str, request_id: str) -> None:
        raise AssertionError("nobody is woken here")

    async def abort(self, tenant: str, session_id: str) -> None:
        raise AssertionError("nobody is stopped here")


class World:
    """A coordinator, its workers, and the runners that had them."""

    def __init__(self, database: Database, wake: Wake) -> None:
        self.database = database
        self.clock = OwnClock()
        self.turns = Turns()
        self.of = coordinator(new_id("ses"), budget_tokens=150, budget_seconds=200)
        self.runs, self.workshop = PostgresRuns(database), PostgresRunWorkshop(database, wake)
        self.last_words = LastWords(self.turns)
        self.running = Running(self.runs, self.workshop, self.last_words, wake, self.clock, timedelta(hours=1))
        self.names: list[str] = []
        self.held: dict[str, list[Leased]] = {}
        self.ended: dict[str, tuple[Any, ...]] = {}
        self.spent = (0, 0)

    async def begin(self) -> None:
        await emptied(self.database, "coordinators", "workers", "jobs", "outbox", "ended_turns", "stops", "wakes")
        async with self.workshop.work() as work:
            await work.make_coordinator(self.of)

    async def spawn(self, timeout: int) -> None:
        name = f"w{len(self.names)}"
        async with self.workshop.work() as work:
            there = await work.coordinator(TENANT, self.of.session_id)
            assert there is not None
            if there.spent_budget is not None:
                return
            made = worker(self.of, name, timeout_seconds=timeout)
            assert await work.insert_worker(made)
            await work.enqueue_job(made)
        self.names.append(name)

    async def claim(self, most: int) -> None:
        for leased in await self.running.claim("r", new_id("clm"), most, 0):
            history = self.held.setdefault(leased.worker.name, [])
            assert leased.worker.launches == len(history) + 1
            assert all(leased.job.fence > before.job.fence for before in history)
            history.append(leased)

    async def beat(self, what: tuple[int, bool, bool, int]) -> None:
        index, said, waiting, tokens = what
        if leased := self._latest(index):
            if said:
                self._turn(leased, said=True)
            with suppress(Conflict):
                await self.running.heartbeat(leased.job.id, leased.job.fence, Beat(said, waiting, tokens))

    async def report(self, index: int) -> None:
        if leased := self._latest(index):
            with suppress(Conflict):
                await self.running.report(leased.job.id, leased.job.fence, f"so far {self.clock.now()}")

    async def turn(self, what: tuple[int, str]) -> None:
        index, how = what
        if leased := self._latest(index):
            under_way = how in ("running", "waiting")
            outcome = how if how in ("ok", "aborted") else ""
            self._turn(leased, under_way=under_way, waiting=how == "waiting", outcome=outcome)

    async def lose(self, index: int) -> None:
        if leased := self._latest(index):
            await lose(self.database, leased.worker.name)

    async def give_back(self, index: int) -> None:
        if leased := self._latest(index):
            with suppress(Conflict):
                await self.running.heartbeat(leased.job.id, leased.job.fence, Beat(give_back=True))

    async def complete(self, what: tuple[int, str, bool]) -> None:
        index, reason, by_the_first = what
        if leased := self._latest(index):
            by = self.held[leased.worker.name][0] if by_the_first else leased
            foreign = by.job.fence != (await self._row(leased.worker.name))["fence"]
            try:
                await self.running.complete(by.job.id, by.job.fence, reason, "text", 3, "")
                assert not foreign, "a late runner is refused"
            except Conflict:
                pass

    async def cancel(self, index: int) -> None:
        if index < len(self.names):
            async with self.workshop.work() as work:
                there = await work.coordinator(TENANT, self.of.session_id)
                one = await work.worker(TENANT, self.of.session_id, self.names[index])
                assert there is not None
                assert one is not None
                await ask_stop(work, there, one, Reason.CANCELLED, SYSTEM, self.clock.now())

    async def pass_time(self, seconds: int) -> None:
        self.clock.go(seconds)
        await Expiring(self.runs, self.workshop, self.clock).round()
        await Forcing(self.runs, self.workshop, self.last_words, self.clock).round()

    async def end_turn(self, outcome: str) -> None:
        async with self.workshop.work() as work:
            payload = {"session_id": self.of.session_id, "kind": "turn", "to": "idle", "turn_id": "trn_1"}
            await Hearing(self.clock).hear(work, TENANT, {**payload, "outcome": outcome})

    async def reconcile(self) -> None:
        before = {name: await self._row(name) for name in self.names}
        await Reconciling(self.runs, self.workshop, self.turns, self.clock).round()
        for name, was in before.items():
            now = await self._row(name)
            if (was["job_state"], now["job_state"]) == ("leased", "queued"):
                turn = self.turns.of.get(now["session_id"])
                goes_on = turn is not None and turn.under_way
                assert goes_on or (not was["said"] and not (turn and turn.said)), "it said something, and runs again"
                assert goes_on or now["launches"] < 2, "it is begun a third time"

    async def check(self) -> None:
        """What is always true."""
        told = Counter(one["name"] for one in await facts(self.database, "ended"))
        for name in self.names:
            row = await self._row(name)
            if row["ended_at"] is None:
                assert told[name] == 0
                assert row["job_state"] in (("queued",) if row["status"] == "spawning" else ("queued", "leased"))
                continue
            end = tuple(row[key] for key in ("status", "reason", "has_result", "partial", "report_version", "ended_at"))
            assert self.ended.setdefault(name, end) == end, "an end stays"
            assert told[name] == 1
            assert row["job_state"] in ("done", "failed", "cancelled")
            assert row["status"] == STATUS_OF[Reason(row["reason"])]
        await self._check_books()

    async def _check_books(self) -> None:
        async with self.database.connection() as tx:
            of = await tx.raw.fetchrow("SELECT spent_ms, spent_tokens FROM coordinators")
            sums = await tx.raw.fetchrow(
                "SELECT coalesce(sum(spent_ms), 0), coalesce(sum(tokens), 0), coalesce(min(spent_ms), 0) FROM workers"
            )
            finals = await tx.raw.fetch("SELECT worker_id FROM reports WHERE final")
        assert of is not None
        assert sums is not None
        assert (of[0], of[1]) == (sums[0], sums[1]), "what workers cost is what the coordinator pays"
        assert sums[2] >= 0
        assert of[0] >= self.spent[0]
        assert of[1] >= self.spent[1]
        self.spent = (of[0], of[1])
        assert len({row["worker_id"] for row in finals}) == len(finals)

    def _latest(self, index: int) -> Leased | None:
        """The newest lease of a worker."""
        history = self.held.get(f"w{index}")
        return history[-1] if history else None

    def _turn(self, leased: Leased, **changes: Any) -> None:
        fresh = TurnSeen("trn_w", True, False, "", "", False, False, 0)
        session = leased.worker.session_id
        self.turns.of[session] = replace(self.turns.of.get(session, fresh), **changes)

    async def _row(self, name: str) -> Row:
        async with self.database.connection() as tx:
            row = await tx.raw.fetchrow(
                "SELECT w.*, j.state AS job_state, j.fence FROM workers w JOIN jobs j ON j.id = w.job_id"
                " WHERE w.name = $1",
                name,
            )
        assert row is not None
        return row


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(STEPS, min_size=6, max_size=30))
@example(steps=[("beat", (0, True, False, 0)), ("turn", (0, "failed")), ("lose", 0), ("claim", 1)])
@example(steps=[("lose", 0), ("claim", 1), ("lose", 0), ("claim", 1), ("complete", (0, "completed", True))])
@example(steps=[("beat", (0, True, True, 0)), ("turn", (0, "waiting")), ("lose", 0), ("pass_time", 31), ("claim", 1)])
@example(
    steps=[
        ("spawn", 5),
        ("claim", 1),
        ("pass_time", 5),
        ("cancel", 1),
        ("pass_time", 31),
        ("beat", (0, True, True, 60)),
    ]
)
async def test_any_sequence_of_runs_keeps_what_is_promised(
    database: Database, wake: Wake, steps: list[tuple[str, Any]]
) -> None:
    world = World(database, wake)
    await world.begin()
    await world.spawn(0)
    await world.claim(1)
    for step, what in steps:
        await getattr(world, step)(what)
        await world.reconcile()
        await world.check()
