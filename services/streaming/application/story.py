"""What every command of a session's turn shares: moving its state, starting its agent, closing gates, ending the turn.

Functions over `Work`: the caller holds the session's lock, and what they say is in their transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from services.kernel.ids import new_id
from services.streaming.application.work import Settlement, Work
from services.streaming.domain import turns
from services.streaming.domain.gates import Gate, GateKind, GateState
from services.streaming.domain.session import Agent, Session, TurnState

BEGUN_AGAIN = "The agent was lost before it heard of this turn: it is started again."
SYSTEM = "service:streaming"
"""Who does what no person and no agent did."""


async def move(work: Work, session: Session, to: TurnState, by: str, now: datetime) -> Session:
    """The turn under way (or a new one) is in another state; says so. Nothing where it is in it already."""
    if session.state is to:
        return session
    moved = replace(session, state=to, outcome="", code="")
    await work.save(moved, now)
    await work.move_turn(moved)
    await work.say(moved, "turn", {"state": to, "turn_id": moved.turn_id})
    await work.fact(moved, "turn", by, now, before=session.state)
    return moved


async def start_agent(work: Work, session: Session, now: datetime) -> Session:
    """Wants a runner, where no agent is there: every start but the first begins a new generation of the stream first
    (D1.4). Commands that no agent took before are the caller's to drop."""
    if session.external:
        return session  # an outside agent comes and goes as it likes
    if session.started:
        await work.begin_generation(session)
    started = replace(session, agent=Agent.STARTING, started=True, job_id=new_id("job"))
    await work.save(started, now)
    await work.enqueue_job(started)
    return started


async def begin_again(work: Work, session: Session, words: Sequence[str], now: datetime) -> Session:
    """The agent was lost before anybody told it of its turn: another one is wanted, and the commands that wait are its.
    Readers of the new generation hear what the turn's words are."""
    again = await start_agent(work, session, now)
    await work.say(again, "status", {"code": "resumed", "text": BEGUN_AGAIN})
    for text in words:
        await work.say(again, "prompt", {"text": text})
    await work.say(again, "turn", {"state": again.state, "turn_id": again.turn_id})
    return again


async def agent_gone(work: Work, session: Session, now: datetime) -> Session:
    """No agent is there any more."""
    gone = replace(session, agent=Agent.NONE, job_id="")
    await work.save(gone, now)
    return gone


async def close(
    work: Work, session: Session, gate: Gate, state: GateState, by: str, now: datetime, answer: dict[str, Any] | None
) -> bool:
    """Closes one open gate, tells the stream and the agent. False: it was closed already."""
    if not await work.close_gate(session, gate.id, state, answer, by, now):
        return False
    await work.say(session, "gate", {"gate_id": gate.id, "kind": gate.kind, "state": state})
    await work.command(session, "gate_answer", answer_payload(gate, state, answer), now)
    return True


async def cancel_gates(work: Work, session: Session, by: str, now: datetime, *kinds: GateKind) -> int:
    """Cancels the open gates of these kinds (none: all); answers how many are left open."""
    left = 0
    for gate in await work.open_gates(session):
        if kinds and gate.kind not in kinds:
            left += 1
        else:
            await close(work, session, gate, GateState.CANCELLED, by, now, None)
    return left


async def settle(work: Work, session: Session, ended: Settlement, by: str, now: datetime) -> Session:
    """The turn is over: open calls are failed (each exactly once), open gates cancelled, messages kept."""
    to = turns.after(session.state, turns.Settled(turns.Outcome(ended.outcome)))
    await cancel_gates(work, session, by, now)
    await work.drop_commands(session)
    for call_id, name in ended.open_calls:
        await work.say(session, "tool", {"call_id": call_id, "name": name, "status": "failed"})
    outcome = "" if to is TurnState.FAILED else ended.outcome
    settled = replace(session, state=to, outcome=outcome, code=ended.code)
    await work.save(settled, now)
    await work.end_turn(settled, ended, now)
    body = {"state": to, "turn_id": session.turn_id, "outcome": outcome, "code": ended.code}
    await work.say(settled, "turn", {name: value for name, value in body.items() if value})
    await work.fact(settled, "turn", by, now, before=session.state)
    return settled


def answer_payload(gate: Gate, state: GateState, answer: dict[str, Any] | None) -> dict[str, Any]:
    """What the agent is told of a closed gate."""
    return {
        "request_id": gate.request_id,
        "gate_id": gate.id,
        "kind": gate.kind,
        "state": state,
        "proposal": gate.proposal,
        "answer": answer,
    }
