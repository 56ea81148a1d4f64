"""Any sequence of commands on one coordinator does what a model of a few lines says: names, caps, ends, notes."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from services.coordination.adapters.reads import PostgresReads
from services.coordination.adapters.work import PostgresWorkshop
from services.coordination.application.acting import Command
from services.coordination.application.cancelling import Cancelling
from services.coordination.application.noting import Noting
from services.coordination.application.ports import LiveTurn
from services.coordination.application.registering import Registering
from services.coordination.application.spawning import Spawning, Spec
from services.coordination.application.statuses import Statuses
from services.coordination.application.thread_mode import PolicyChange, ThreadMode
from services.coordination.domain import limits
from services.coordination.domain.worker import ENDS, Kind, Reason, Status
from services.kernel.clock import SystemClock
from services.kernel.errors import Refusal
from services.kernel.ids import new_id
from tests.integration.coordination.client import PERSON
from tests.integration.coordination.rows import TENANT
from tests.integration.coordination.runs import ended

NAMES = [f"w{number}" for number in range(36)]
few = st.sampled_from(NAMES[:3])
STEPS = st.one_of(
    st.tuples(st.just("spawn"), st.lists(few, min_size=1, max_size=4) | st.permutations(NAMES)),
    st.tuples(st.just("register"), few),
    st.tuples(st.just("note"), st.tuples(st.sampled_from(["", *NAMES[:2]]), st.integers(20, 40))),
    st.tuples(st.just("cancel"), few),
    st.tuples(st.just("status"), st.tuples(few, st.sampled_from(list(Status)))),
    st.tuples(st.just("end"), st.tuples(few, st.sampled_from([Reason.LAUNCH_FAILED, *Reason]))),
    st.tuples(st.just("relaunch"), few),
    st.tuples(st.just("flag"), st.sampled_from([True, True, False])),
)


class Always:
    """A conversation whose turn never ends."""

    async def live_turn(self, session_id: str) -> LiveTurn | None:
        return LiveTurn("trn_1", "scripted", "", "", "medium")


@dataclass
class Model:
    """What should be: (kind, status, reason) by name; the texts of each list of notes."""

    enabled: bool = True
    workers: dict[str, tuple[Kind, Status, str]] = field(default_factory=dict)
    notes: dict[str, list[str]] = field(default_factory=dict)

    @property
    def live(self) -> int:
        return sum(status not in ENDS for _, status, _ in self.workers.values())

    def placed(self, name: str, kind: Kind, status: Status) -> str:
        """Why not, or empty."""
        if name in self.workers and self.workers[name][2] != "launch_failed":
            return "NAME_TAKEN"
        if self.live >= limits.LIVE_MOST:
            return "TOO_MANY_THREADS"
        self.workers.pop(name, None)
        self.workers[name] = (kind, status, "")
        return ""

    def noted(self, name: str, text: str) -> str | None:
        """What is dropped for it."""
        notes = self.notes.setdefault(name, [])
        notes.append(text)
        return notes.pop(0) if len(notes) > limits.NOTES_KEPT else None


class Desk:
    """The use cases on one coordinator, and the model beside them."""

    def __init__(self, workshop: PostgresWorkshop, reads: PostgresReads) -> None:
        clock = SystemClock()
        self.session, self.numbers, self.model = new_id("ses"), count(), Model()
        self.workshop, self.reads = workshop, reads
        self.mode = ThreadMode(workshop, clock)
        self.spawning = Spawning(workshop, Always(), clock, new_id, "scripted")
        self.registering = Registering(workshop, clock, new_id)
        self.noting = Noting(workshop, reads, clock)
        self.cancelling = Cancelling(workshop, clock)
        self.statuses = Statuses(workshop, clock)

    @property
    def command(self) -> Command:
        return Command(PERSON, self.session, "", b"")

    async def flag(self, enabled: bool) -> None:
        await self.mode.set(self.command, enabled, PolicyChange())
        self.model.enabled = enabled

    async def spawn(self, names: list[str]) -> None:
        if not self.model.enabled:
            assert await _refused(self.spawning.spawn(self.command, [Spec(names[0], "b")])) == "THREAD_MODE_DISABLED"
            return
        said = await self.spawning.spawn(self.command, [Spec(name, f"do {name}") for name in names])
        expected = [self.model.placed(name, Kind.SUBAGENT, Status.SPAWNING).lower() for name in names]
        assert [one.code for one in said] == expected

    async def register(self, name: str) -> None:
        said = await _refused(self.registering.register(self.command, name, new_id("ses"), "watch"))
        assert said == self.model.placed(name, Kind.SESSION, Status.RUNNING)

    async def note(self, what: tuple[str, int]) -> None:
        name, times = what
        for _ in range(times):
            text = f"note {next(self.numbers)}"
            if name and name not in self.model.workers:
                assert await _refused(self.noting.add(self.command, name, text)) == "WORKER_NOT_FOUND"
                return
            noted = await self.noting.add(self.command, name, text)
            dropped = self.model.noted(name, text)
            assert (noted.evicted.text if noted.evicted else None) == dropped
            assert noted.count == len(self.model.notes[name])

    async def cancel(self, name: str) -> None:
        said = await _refused(self.cancelling.cancel(self.command, name, ""))
        kind, status, _ = self.model.workers.get(name, (Kind.SESSION, Status.UNKNOWN, "none"))
        if name not in self.model.workers:
            assert said == "WORKER_NOT_FOUND"
        elif status in ENDS:
            assert said == "WORKER_ENDED"
        else:
            assert said == ""
            self.model.workers[name] = (kind, Status.CANCELLED, "cancelled")

    async def status(self, what: tuple[str, Status]) -> None:
        name, to = what
        said = await _refused(self.statuses.set(self.command, name, to))
        kind, status, reason = self.model.workers.get(name, (Kind.SESSION, Status.UNKNOWN, "none"))
        if to is Status.SPAWNING:
            assert said == "INVALID_ARGUMENT"
        elif name not in self.model.workers:
            assert said == "WORKER_NOT_FOUND"
        elif kind is Kind.SUBAGENT:
            assert said == "WORKER_MANAGED"
        elif status in ENDS and to is not status:
            assert said == "WORKER_ENDED"
        else:
            assert said == ""
            why = {Status.SUCCEEDED: "completed"}.get(to, to.value) if to in ENDS else ""
            self.model.workers[name] = (kind, to, reason if status is to else why)

    async def end(self, what: tuple[str, Reason]) -> None:
        name, reason = what
        if name not in self.model.workers or self.model.workers[name][1] in ENDS:
            return
        worker = await ended(self.workshop, self.session, name, reason)
        self.model.workers[name] = (worker.kind, worker.status, reason.value)

    async def relaunch(self, name: str) -> None:
        await self.end((name, Reason.LAUNCH_FAILED))
        await self.spawn([name])

    async def agrees(self) -> None:
        """The database says what the model says."""
        record = await self.reads.coordinator(TENANT, self.session)
        assert record is not None
        assert record.coordinator.enabled is self.model.enabled
        page = await self.reads.workers(TENANT, self.session, None, 1_000)
        assert {one.worker.name: (one.worker.kind, one.worker.status, one.worker.reason) for one in page.workers} == (
            self.model.workers
        )
        assert [one.worker.name for one in page.workers] == list(self.model.workers)
        for one in page.workers:
            notes = await self.reads.notes(TENANT, self.session, one.worker.id, 0, 100)
            assert [note.text for note in notes] == self.model.notes.get(one.worker.name, [])
            assert one.note_count == len(notes)
        own = await self.reads.notes(TENANT, self.session, "", 0, 100)
        assert [note.text for note in own] == self.model.notes.get("", [])


async def _refused(call: object) -> str:
    """The reason; empty where it was not refused."""
    try:
        await call  # type: ignore[misc]
    except Refusal as refusal:
        return refusal.reason
    return ""


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(STEPS, min_size=3, max_size=25))
async def test_any_sequence_of_commands_does_what_the_model_says(
    workshop: PostgresWorkshop, reads: PostgresReads, steps: list[tuple[str, object]]
) -> None:
    desk = Desk(workshop, reads)
    await desk.flag(True)
    for command, what in steps:
        await getattr(desk, command)(what)
    await desk.agrees()
