"""Gates: an agent asks, a person answers once, the agent is told (D1.6, S.6)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from services.kernel.clock import Clock
from services.kernel.errors import Invalid
from services.kernel.ids import NewId
from services.kernel.principal import Principal
from services.streaming.application import story
from services.streaming.application.ports import SessionKey
from services.streaming.application.turning import who
from services.streaming.application.work import Work, Workshop
from services.streaming.domain import gates, turns
from services.streaming.domain.gates import Answer, Gate, GateKind, GateState
from services.streaming.domain.session import Agent, Session
from services.streaming.domain.turns import UNDER_WAY

TIMEOUT_MOST = 30 * 24 * 3600
AGENT = "agent:{}"


@dataclass(frozen=True, slots=True)
class Asked:
    """What the agent asks: as it came, unchecked."""

    request_id: str
    kind: str
    proposal: object
    timeout_seconds: int = 0


@dataclass(frozen=True, slots=True)
class GateOutcome:
    """What became of it: a gate, or why there is none."""

    request_id: str
    gate_id: str = ""
    reason: str = ""
    message: str = ""


class Gating:
    """The use cases."""

    def __init__(self, workshop: Workshop, clock: Clock, new_id: NewId) -> None:
        self._workshop = workshop
        self._clock = clock
        self._new_id = new_id

    async def open(self, key: SessionKey, asked: Asked) -> GateOutcome:
        """Opens the agent's gate, or attaches it to the one of the same request_id: what was answered meanwhile is
        told once more. A malformed proposal opens nothing, and the agent is told why."""
        try:
            kind = GateKind(asked.kind)
        except ValueError:
            return GateOutcome(asked.request_id, "", "INVALID_PROPOSAL", "kind is none of the known ones")
        try:
            proposal = gates.proposal(kind, asked.proposal)
        except Invalid as refusal:
            return GateOutcome(asked.request_id, "", refusal.reason, refusal.message)
        async with self._workshop.work() as work:
            session = await work.lock(key)
            known = await work.gate_asked(session, asked.request_id)
            if known is not None:
                if known.state is not GateState.OPEN and session.state in UNDER_WAY:
                    payload = story.answer_payload(known, known.state, known.answer)
                    await work.command(session, "gate_answer", payload, self._clock.now())
                return GateOutcome(asked.request_id, known.id)
            if session.state not in UNDER_WAY:
                return GateOutcome(asked.request_id, "", "TURN_NOT_RUNNING", "no turn is under way")
            if len(await work.open_gates(session)) >= gates.OPEN_MOST:
                return GateOutcome(asked.request_id, "", "INVALID_PROPOSAL", "too many gates are open")
            gate = self._gate(session, asked, kind, proposal)
            await self._opened(work, session, gate)
            return GateOutcome(asked.request_id, gate.id)

    async def answer(
        self, caller: Principal, session_id: str, gate_id: str, answer: Answer, request_id: str, digest: bytes
    ) -> Gate:
        """Once; the ledger's entry, the agent's command and the turn's state in the same transaction. The last answer
        brings an agent back that is gone."""
        async with self._workshop.work() as work:
            said = await work.remember(caller, "AnswerGate", request_id, digest)
            session = await work.lock(SessionKey(caller.tenant, session_id))
            gate = await work.gate(session, gate_id)
            if gate is None:
                raise gates.gate_not_found()
            if said is not None:
                return gate
            by, now = who(caller), self._clock.now()
            if gate.state is not GateState.OPEN:
                raise gates.gate_closed(gate)
            if gate.expires_at is not None and gate.expires_at <= now:
                raise gates.gate_closed(gate, GateState.EXPIRED)
            gates.check(gate, answer)
            if not await story.close(work, session, gate, GateState.ANSWERED, by, now, answer.shown()):
                raise gates.gate_closed(gate)
            if gates.accepts_joins(gate, answer):
                await work.accept_joins(session, gate, by, now)
            await self._closed(work, session, by)
            await work.store(gate.id.encode())
            answered = await work.gate(session, gate_id)
            assert answered is not None
            return answered

    async def gone(self, key: SessionKey, request_id: str, *, expired: bool) -> None:
        """The agent does not ask any more."""
        async with self._workshop.work() as work:
            session = await work.lock(key)
            gate = await work.gate_asked(session, request_id)
            if gate is None or session.state not in UNDER_WAY:
                return
            state = GateState.EXPIRED if expired else GateState.CANCELLED
            by, now = AGENT.format(session.id), self._clock.now()
            if await story.close(work, session, gate, state, by, now, None):
                await self._closed(work, session, by)

    async def expire(self, key: SessionKey, gate_id: str) -> None:
        """Its time is over."""
        async with self._workshop.work() as work:
            session = await work.lock(key)
            gate = await work.gate(session, gate_id)
            now = self._clock.now()
            if gate is None or gate.expires_at is None or gate.expires_at > now:
                return
            if await story.close(work, session, gate, GateState.EXPIRED, story.SYSTEM, now, None):
                await self._closed(work, session, story.SYSTEM)

    def _gate(self, session: Session, asked: Asked, kind: GateKind, proposal: dict[str, Any]) -> Gate:
        now = self._clock.now()
        seconds = min(asked.timeout_seconds, TIMEOUT_MOST)
        expires = now + timedelta(seconds=seconds) if seconds > 0 else None
        made = self._new_id("gat")
        return Gate(
            made, session.turn_id, asked.request_id, kind, proposal, GateState.OPEN, None, "", now, None, expires
        )

    async def _opened(self, work: Work, session: Session, gate: Gate) -> None:
        by = AGENT.format(session.id)
        to = turns.after(session.state, turns.GateOpened())
        await work.add_gate(session, gate)
        await work.note_said(session)
        body = {"gate_id": gate.id, "kind": gate.kind, "state": gate.state, "proposal": gate.proposal}
        await work.say(session, "gate", body)
        moved = await story.move(work, session, to, by, gate.created_at)
        await work.fact(moved, "gate", by, gate.created_at)

    async def _closed(self, work: Work, session: Session, by: str) -> None:
        """After one gate was closed: waiting while any is open; then the agent goes on, or is brought back."""
        now = self._clock.now()
        left = len(await work.open_gates(session))
        to = turns.after(session.state, turns.GateClosed(left))
        await work.fact(session, "gate", by, now)
        if not left and session.agent is Agent.NONE:
            session = await story.start_agent(work, session, now)
        await story.move(work, session, to, by, now)
