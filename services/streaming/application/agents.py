"""What an agent does to its turn: it asks, it settles, it goes (S.5, S.6). And what is done when its runner is lost."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import orjson

from services.kernel.bus import Bell
from services.kernel.clock import Clock
from services.kernel.errors import NotAllowed, Refusal
from services.kernel.telemetry import get_logger
from services.streaming.application import story
from services.streaming.application.agent_ports import Agents, Hold, LogReading
from services.streaming.application.gating import Asked, GateOutcome, Gating
from services.streaming.application.ports import SessionKey
from services.streaming.application.work import Settlement, Turn, Work, Workshop
from services.streaming.domain import turns
from services.streaming.domain.gates import GateKind
from services.streaming.domain.session import Session, TurnState
from services.streaming.domain.turn_scan import TurnScan
from services.streaming.domain.turns import UNDER_WAY, Outcome

_SWEEP_SECONDS = 0.5
_SWEEP_MOST = 100
_TEXT_BYTES = 3 * 1024 * 1024
_log = get_logger("streaming.agents")


@dataclass(frozen=True, slots=True)
class Gone:
    """The agent does not ask any more."""

    request_id: str
    expired: bool


@dataclass(frozen=True, slots=True)
class TurnEnd:
    """The agent says that its turn is over. `detail` is for the log alone."""

    turn_id: str
    outcome: Outcome
    code: str
    text: str
    usage: dict[str, Any] | None
    detail: str


AgentNews = Asked | Gone | TurnEnd


class AgentSide:
    """The use cases."""

    def __init__(
        self, workshop: Workshop, rows: Agents, log: LogReading, gating: Gating, clock: Clock, unclaimed_seconds: float
    ) -> None:
        self._workshop = workshop
        self._rows = rows
        self._log = log
        self._gating = gating
        self._clock = clock
        self._unclaimed = unclaimed_seconds

    async def hold(self, job_id: str, fence: int) -> Hold:
        """The session that the caller holds by this job. NotFound JOB_NOT_FOUND, Conflict LEASE_LOST."""
        return await self._rows.held(job_id, fence)

    async def attached(self, hold: Hold, taken: int) -> TurnScan:
        """The runner is there with an agent; answers what the turn under way has said so far."""
        await self._rows.attached(hold, taken)
        scan = await self.scan(hold.key)
        if scan.heard:
            await self._rows.note_said(hold.key)  # whoever appended it may have died before it could say so
        return scan

    async def said(self, hold: Hold) -> bool:
        """The agent has said something in its turn, for the first time. False: not noted, say it again."""
        try:
            return await self._rows.note_said(hold.key)
        except Refusal as refusal:
            _log.warning("turn.said_waits", session=hold.key.session, reason=refusal.reason)
            return False

    async def spent(self, hold: Hold, turn_id: str, usage: dict[str, Any]) -> None:
        """What the turn has cost so far. What is not noted now is told again soon."""
        try:
            await self._rows.note_usage(hold.key, turn_id, usage)
        except Refusal as refusal:
            _log.warning("turn.usage_waits", session=hold.key.session, reason=refusal.reason)

    async def hear(self, hold: Hold, news: AgentNews, scan: TurnScan) -> GateOutcome | None:
        """Takes what the agent says of its turn's state. The same news twice is as good as once."""
        match news:
            case Asked():
                return await self._gating.open(hold.key, news)
            case Gone(request_id, expired):
                await self._gating.gone(hold.key, request_id, expired=expired)
            case TurnEnd():
                await self._settle(hold, news, scan)
        return None

    async def ended(
        self, job_id: str, fence: int, code: str, detail: str, *, orderly: bool, if_idle: bool = False
    ) -> None:
        """The agent is gone, says the runner that holds it. With `if_idle` it asks whether it may go: NotAllowed
        TURN_RUNNING where a turn is under way."""
        if await self._rows.has_ended(job_id, fence):
            return  # the answer was lost, and this is the repeat
        hold = await self._rows.held(job_id, fence)
        _log.info("agent.ended", session=hold.key.session, code=code, detail=detail)
        scan = await self.scan(hold.key)
        async with self._workshop.work() as work:
            session = await work.lock(hold.key)
            await work.hold_job(job_id, fence)
            if if_idle and session.state in UNDER_WAY:
                raise NotAllowed("TURN_RUNNING", "a turn is under way", state=session.state, turn=session.turn_id)
            await work.end_job(job_id, "done" if orderly else "failed", code)
            await self._without_agent(work, session, code or "child_exit", scan)

    async def lose(self, key: SessionKey, job_id: str) -> None:
        """The runner's lease ran out, or nobody came: looked at once more under the lock."""
        scan = await self.scan(key)
        async with self._workshop.work() as work:
            session = await work.lock(key)
            over = await work.job_over(job_id, self._unclaimed)
            if session.job_id != job_id or not over:
                return
            code = "start_failed" if over == "unclaimed" else "runner_lost"
            await work.end_job(job_id, "failed", code)
            _log.warning("runner.lost", session=key.session, job=job_id, code=code)
            words = await self._unheard(work, session) if over == "lost" else []
            if words:
                await story.begin_again(work, session, words, self._clock.now())
            else:
                await self._without_agent(work, session, code, scan)

    async def scan(self, key: SessionKey) -> TurnScan:
        """What the session's turn under way has said so far, out of the log."""
        turn = await self._under_way(key)
        return TurnScan() if turn is None else await self._scanned(key, turn)

    async def said_so_far(self, key: SessionKey, turn_id: str) -> str:
        """The final text of that turn as far as it was streamed, at most 3 MiB; empty where it is not under way."""
        turn = await self._under_way(key)
        if turn is None or turn.id != turn_id:
            return ""
        return (await self._scanned(key, turn)).text.encode()[:_TEXT_BYTES].decode(errors="ignore")

    async def sweep(self, bell: Bell) -> None:
        """Twice a second: runners that are lost, gates whose time is over. Runs until cancelled."""
        while True:
            for key, job_id in await self._rows.over(_SWEEP_MOST, self._unclaimed):
                await self._tried(key, self.lose(key, job_id))
            for key, gate_id in await self._rows.expiring(_SWEEP_MOST):
                await self._tried(key, self._gating.expire(key, gate_id))
            await bell.wait(_SWEEP_SECONDS)

    async def _under_way(self, key: SessionKey) -> Turn | None:
        async with self._workshop.work() as work:
            session = await work.lock(key)
            return await work.turn(session) if session.state in UNDER_WAY else None

    async def _scanned(self, key: SessionKey, turn: Turn) -> TurnScan:
        scan, begun = TurnScan(), False
        async for chunk in self._log.entries(key, turn.after_seq):
            for entry in chunk:
                if begun:
                    if entry.name in ("tool", "text_delta", "text_reset", "activity_delta"):
                        scan.said(entry.name, orjson.loads(entry.line))
                elif entry.name == "turn":
                    begun = orjson.loads(entry.line).get("turn_id") == turn.id
        return scan

    async def _tried(self, key: SessionKey, duty: Any) -> None:
        try:
            await duty
        except Refusal as refusal:  # one session's trouble is not the others' (PUB07): again in a moment
            _log.warning("sweep.waits", session=key.session, reason=refusal.reason)
            await asyncio.sleep(0)
        except Exception:
            _log.exception("sweep.failed", session=key.session)

    async def _settle(self, hold: Hold, end: TurnEnd, scan: TurnScan) -> None:
        if end.detail:
            _log.info("turn.detail", session=hold.key.session, code=end.code, detail=end.detail)
        code = turns.known_code(end.code) if end.outcome is Outcome.FAILED else ""
        async with self._workshop.work() as work:
            session = await work.lock(hold.key)
            await work.hold_job(hold.job_id, hold.fence)
            if session.turn_id != end.turn_id or session.state not in UNDER_WAY:
                return  # it was settled before: this is a repeat, or it came too late
            text = end.text if end.outcome is Outcome.OK else end.text or scan.text
            ended = Settlement(end.outcome, code, text, end.usage, scan.open_calls, scan.heard)
            by, now = f"agent:{session.id}", self._clock.now()
            await story.settle(work, session, ended, by, now)

    async def _unheard(self, work: Work, session: Session) -> list[str]:
        """The words of a turn that another agent may still begin, as none was told of it: while nobody wants it
        stopped, and as long as a session may wait for a runner in all."""
        if session.state is not TurnState.RUNNING:
            return []
        turn = await work.turn(session)
        waits = self._clock.now() - turn.created_at
        if turn.abort_requested or waits > timedelta(seconds=self._unclaimed):
            return []
        return await work.untold(session)

    async def _without_agent(self, work: Work, session: Session, code: str, scan: TurnScan) -> None:
        """A reviewer's gate outlives the agent, a dialog dies with it; a turn that nothing waits for has failed."""
        now = self._clock.now()
        session = await story.agent_gone(work, session, now)
        if session.state not in UNDER_WAY:
            await work.say(session, "status", {"code": "agent_gone", "text": AGENT_GONE})
            return
        code, turn = turns.known_code(code), await work.turn(session)
        if turn.abort_requested:
            ended = Settlement(Outcome.ABORTED, "", scan.text, None, scan.open_calls, scan.heard)
            await story.settle(work, session, ended, story.SYSTEM, now)
            return
        left = await story.cancel_gates(work, session, story.SYSTEM, now, GateKind.DIALOG)
        if not left:
            ended = Settlement(Outcome.FAILED, code, scan.text, None, scan.open_calls, scan.heard)
            await story.settle(work, session, ended, story.SYSTEM, now)
            return
        await work.drop_commands(session, but_answers=True)
        for call_id, name in scan.open_calls:
            await work.say(session, "tool", {"call_id": call_id, "name": name, "status": "failed"})
        await work.say(session, "status", {"code": "agent_gone", "text": AGENT_GONE})


AGENT_GONE = "The agent has gone; an answer, a prompt or a resume starts it again."
