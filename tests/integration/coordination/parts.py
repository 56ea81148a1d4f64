"""The parts that run workers, put together over a test's database with a clock that the test owns."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from services.coordination.adapters.errands import PostgresErrands
from services.coordination.adapters.job_rows import PostgresRuns, PostgresRunWork, PostgresRunWorkshop
from services.coordination.adapters.streaming_client import StreamingClient
from services.coordination.adapters.wake import Wake
from services.coordination.application.aborting import Aborting
from services.coordination.application.expiring import Expiring
from services.coordination.application.forcing import Forcing
from services.coordination.application.hearing import Hearing
from services.coordination.application.last_words import LastWords
from services.coordination.application.reconciling import Reconciling
from services.coordination.application.run_ports import Leased
from services.coordination.application.running import Running
from services.coordination.application.waking import Waking
from services.coordination.domain.worker import Coordinator, Kind, Worker
from services.kernel.clock import SystemClock
from services.kernel.grpc_client import open_channel
from services.kernel.ids import new_id
from services.kernel.postgres import Database
from services.kernel.principal import Authenticator
from services.kernel.service_tokens import ServiceTokens
from tests.integration.coordination.client import SECRET
from tests.integration.coordination.rows import TENANT


@dataclass
class OwnClock:
    """Begins now, and goes when it is told to."""

    ahead: timedelta = timedelta(0)
    begin: datetime = field(default_factory=lambda: datetime.now(UTC))

    def now(self) -> datetime:
        """The test's time."""
        return self.begin + self.ahead

    def go(self, seconds: float) -> None:
        """So much later."""
        self.ahead += timedelta(seconds=seconds)


class Parts:
    """Each use case and duty; duties are made to go round by hand."""

    def __init__(self, database: Database, wake: Wake, streaming: str) -> None:
        self.clock = OwnClock()
        self.database = database
        self.wake = wake
        self.channel = open_channel(streaming)
        tokens = ServiceTokens("coordination", Authenticator(SECRET, SystemClock()), SystemClock())
        self.sessions = StreamingClient(self.channel, tokens)
        self.runs = PostgresRuns(database)
        self.workshop = PostgresRunWorkshop(database, wake)
        self.errands = PostgresErrands(database)
        self.last_words = LastWords(self.sessions)
        self.running = Running(self.runs, self.workshop, self.last_words, wake, self.clock, timedelta(seconds=15))
        self.reconciling = Reconciling(self.runs, self.workshop, self.sessions, self.clock)
        self.expiring = Expiring(self.runs, self.workshop, self.clock)
        self.forcing = Forcing(self.runs, self.workshop, self.last_words, self.clock)
        self.aborting = Aborting(self.errands, self.sessions, wake, self.clock)
        self.waking = Waking(self.errands, self.sessions, wake, self.clock)
        self.hearing = Hearing(self.clock)

    async def put(self, of: Coordinator, *workers: Worker) -> None:
        """As a spawn would."""
        async with self.workshop.work() as work:
            await work.make_coordinator(of)
            for one in workers:
                assert await work.insert_worker(one)
                if one.kind is Kind.SUBAGENT:
                    await work.enqueue_job(one)

    async def times_are_over(self) -> None:
        """Workers whose time is over are asked to stop, and those that should have stopped are ended."""
        await self.expiring.round()
        await self.forcing.round()

    async def take(self) -> dict[str, Leased]:
        """A runner takes all that there are, one coordinator's at a time."""
        taken: dict[str, Leased] = {}
        while leased := await self.running.claim("r1", new_id("clm"), 32, 0):
            taken |= {one.worker.name: one for one in leased}
        return taken

    async def hear(self, session_id: str, kind: str, **payload: str) -> None:
        """A fact of a session."""
        async with self.workshop.work() as work:
            assert isinstance(work, PostgresRunWork)
            await self.hearing.hear(work, TENANT, {"session_id": session_id, "kind": kind, **payload})

    async def turn_ends(self, session_id: str, turn_id: str, outcome: str = "ok") -> None:
        """The fact that a turn has ended."""
        to = "idle" if outcome in ("ok", "truncated", "aborted") else "failed"
        at = self.clock.now().isoformat()
        await self.hear(session_id, "turn", **{"from": "running"}, to=to, turn_id=turn_id, outcome=outcome, time=at)

    async def worker(self, of: Coordinator, name: str) -> Worker:
        """As it is now."""
        async with self.workshop.work() as work:
            found = await work.worker(of.tenant, of.session_id, name)
        assert found is not None
        return found
