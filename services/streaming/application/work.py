"""What a command does to a session, inside one transaction: the port that Postgres fills. State first (S.2): what is
said here reaches the stream and the feeds after the commit, in this order."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from services.kernel.principal import Principal
from services.streaming.application.ports import SessionKey
from services.streaming.domain.gates import Gate, GateState
from services.streaming.domain.offers import Offer
from services.streaming.domain.session import Session
from services.streaming.domain.turns import TurnStage


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn's row. `said`: its agent has said something; `begun`: it was ever more than `starting`; `origin_turn_id`:
    in a branch, what it is called where it happened."""

    id: str
    number: int
    state: TurnStage
    text: str
    abort_requested: bool
    outcome: str
    code: str
    usage: dict[str, Any] | None
    after_seq: int
    said: bool
    begun: bool
    origin_turn_id: str
    created_at: datetime
    ended_at: datetime | None

    @property
    def live(self) -> bool:
        """Under way, and nobody wants it stopped."""
        return self.state in (TurnStage.RUNNING, TurnStage.WAITING) and not self.abort_requested

    @property
    def tokens(self) -> int:
        """Read and written; 0 where nobody told."""
        usage = self.usage or {}
        return int(usage.get("input_tokens", 0)) + int(usage.get("output_tokens", 0))


@dataclass(frozen=True, slots=True)
class Settlement:
    """How a turn ended, and what of it is kept."""

    outcome: str
    code: str = ""
    text: str = ""
    usage: dict[str, Any] | None = None
    open_calls: Sequence[tuple[str, str]] = ()
    said: bool = False


class Work(Protocol):
    """One transaction. `lock` comes first: everything else is inside the session's lock."""

    async def remember(self, caller: Principal, method: str, request_id: str, digest: bytes) -> bytes | None:
        """The answer that the same request got before; None: go on (PUB08)."""
        ...

    async def store(self, answer: bytes) -> None:
        """Keeps the answer for repeats of what was remembered."""
        ...

    async def lock(self, key: SessionKey) -> Session:
        """The session, locked until the end; NotFound when there is none or it is deleted."""
        ...

    async def save(self, session: Session, now: datetime) -> None:
        """Writes what a command may change: state, agent, job, turn, outcome, code, agent's state."""
        ...

    async def resumed_at(self, key: SessionKey) -> datetime | None:
        """When the newest cold resume was."""
        ...

    async def note_resume(self, key: SessionKey, at: datetime) -> None:
        """A cold resume was now."""
        ...

    async def tombstone(self, key: SessionKey, at: datetime) -> None:
        """The session is deleted; its rows stay until the purge."""
        ...

    async def begin_turn(self, session: Session, text: str, by: str, now: datetime) -> None:
        """A running turn, `session.turn_id` with `session.turn_number`."""
        ...

    async def reserve_turn(self, session: Session, text: str, by: str, now: datetime, seconds: float) -> None:
        """A turn that starts, `session.starting` with `session.turn_number`, and may do so for so long."""
        ...

    async def run_turn(self, session: Session) -> None:
        """The newest turn, which started, runs."""
        ...

    async def end_start(self, session: Session, now: datetime, *, stale: bool) -> bool:
        """The turn that starts has failed; with `stale`, only if its time is over. False: nothing changed."""
        ...

    async def find_turn(self, session: Session, turn_id: str) -> Turn | None:
        """By its id."""
        ...

    async def turn(self, session: Session) -> Turn:
        """The newest turn."""
        ...

    async def move_turn(self, session: Session) -> None:
        """The newest turn has the session's state."""
        ...

    async def request_abort(self, session: Session) -> None:
        """Somebody wants the newest turn aborted."""
        ...

    async def end_turn(self, session: Session, ended: Settlement, now: datetime) -> None:
        """The newest turn has its end; its prompt and final text become messages."""
        ...

    async def note_said(self, session: Session) -> None:
        """The agent has said something in the turn under way."""
        ...

    async def open_gates(self, session: Session) -> list[Gate]:
        """Oldest first."""
        ...

    async def gate(self, session: Session, gate_id: str) -> Gate | None:
        """By its id."""
        ...

    async def gate_asked(self, session: Session, request_id: str) -> Gate | None:
        """By the agent's own id of the question."""
        ...

    async def add_gate(self, session: Session, gate: Gate) -> None:
        """A new open gate."""
        ...

    async def close_gate(
        self, session: Session, gate_id: str, state: GateState, answer: dict[str, Any] | None, by: str, now: datetime
    ) -> bool:
        """Closes it if it is open: compare and set."""
        ...

    async def accept_joins(self, session: Session, gate: Gate, by: str, now: datetime) -> int:
        """Puts the gate's whole set into the ledger; answers its sequence, the newest plus one."""
        ...

    async def command(self, session: Session, kind: str, payload: dict[str, Any], now: datetime) -> None:
        """Queues a command for the agent: `prompt`, `steer`, `abort` or `gate_answer`."""
        ...

    async def drop_commands(self, session: Session, *, but_answers: bool = False) -> None:
        """What no agent has taken yet is not wanted any more."""
        ...

    async def untold(self, session: Session) -> list[str]:
        """The words of the newest turn, its prompt's first, where no agent was ever told of it; else none. After
        `end_job`: then nobody is told any more."""
        ...

    async def say(self, session: Session, name: str, body: dict[str, Any]) -> None:
        """An event of the session's stream that tells of state."""
        ...

    async def say_line(self, session: Session, name: str, line: bytes) -> None:
        """As `say`, of data that is a line already."""
        ...

    async def begin_generation(self, session: Session) -> None:
        """What is said from here on stands in a new generation of the stream."""
        ...

    async def fact(self, session: Session, kind: str, actor: str, now: datetime, before: str = "") -> None:
        """A domain fact for the feeds."""
        ...

    async def enqueue_job(self, session: Session) -> None:
        """A runner is wanted: `session.job_id`."""
        ...

    async def cancel_job(self, session: Session, reason: str) -> None:
        """The session's job is not wanted any more; who holds it is fenced off."""
        ...

    async def end_job(self, job_id: str, state: str, reason: str) -> None:
        """The job is over: `done` or `failed`."""
        ...

    async def hold_job(self, job_id: str, fence: int) -> None:
        """Conflict LEASE_LOST when the caller does not have the lease."""
        ...

    async def job_over(self, job_id: str, unclaimed_seconds: float) -> str:
        """`lost` when its lease has expired (or it is not live at all), `unclaimed` when nobody has claimed it for so
        long, else empty."""
        ...

    async def offers(self) -> list[Offer]:
        """What the runners that are there can run."""
        ...


class Workshop(Protocol):
    """Where work is done."""

    def work(self) -> AbstractAsyncContextManager[Work]:
        """A transaction: committed at its good end; then the relay, the stream's writers and runners are woken."""
        ...
