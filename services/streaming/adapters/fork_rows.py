"""Makes a session that goes on from another one's past: it shares the turns and messages and has the agent's state
(design/streaming.md S.7). What that costs does not grow with the turns."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from services.kernel.errors import NotAllowed, Unavailable
from services.kernel.postgres import Database, Row, Tx
from services.streaming.adapters import purge_rows, shared_rows, state_rows
from services.streaming.adapters.postgres import add_session, fact, say, session_in, taken
from services.streaming.adapters.wake import Wake
from services.streaming.application.forking import Fork
from services.streaming.application.ports import SessionKey
from services.streaming.domain.errors import session_exists, session_forking, turn_not_found
from services.streaming.domain.session import Agent, Session, TurnState, new_session
from services.streaming.domain.shared_turns import seen_as

_HANDED_OVER: Final = timedelta(seconds=3)
"""How long after its end a turn's state may be on its way from the runner."""


class PostgresForks:
    """Fills `Forks`."""

    def __init__(self, database: Database, wake: Wake) -> None:
        self._database = database
        self._wake = wake

    async def fork(self, asked: Fork, now: datetime) -> Session:
        """One transaction. Turns that have ended do not change, so that the origin needs no lock; no session is purged
        meanwhile."""
        async with self._database.transaction() as tx:
            made = await taken(tx, asked.key)
            if made is None:
                made = await self._made(tx, asked, now)
            if made is None:  # another one was first
                made = await taken(tx, asked.key)
            if made is None or (made.forked_from, made.fork_turn) != (asked.origin.session, asked.turn):
                raise session_exists(asked.session_id)
        await self._wake.committed([asked.key], jobs=False)
        return made

    async def bury(self, key: SessionKey, now: datetime) -> None:
        """A row that is deleted from its beginning; nobody was told of it, and nobody is."""
        session = new_session(
            key.tenant, key.session, now, adapter="none", provider="", model="", thinking="off", title=""
        )
        async with self._database.transaction() as tx:
            await add_session(tx, session, deleted_at=now)

    async def _made(self, tx: Tx, asked: Fork, now: datetime) -> Session | None:
        await purge_rows.not_meanwhile(tx, asked.origin.tenant)
        origin = await session_in(tx, asked.origin)
        if origin.forking:
            raise session_forking()
        last = await shared_rows.turn_at(tx, asked.origin, asked.turn) if asked.turn else None
        _check(origin, last, asked.turn, now)
        agent_state = await shared_rows.newest_state(tx, asked.origin, asked.turn)
        branch = replace(_branch(origin, asked, last, now), agent_state=agent_state)
        if not await add_session(tx, branch):
            return None
        if last is not None:
            await shared_rows.share(tx, asked.origin, last, branch.id)
        await state_rows.copy(tx, branch.tenant, branch.agent_state, branch.id)
        body = {"state": branch.state, "turn_id": branch.turn_id, "outcome": branch.outcome, "code": branch.code}
        await say(tx, asked.key, "turn", {name: value for name, value in body.items() if value})
        await fact(tx, branch, "created", asked.by, now)
        return branch


def _check(origin: Session, last: Row | None, turn: int, now: datetime) -> None:
    if not turn:
        return
    if last is None:
        raise turn_not_found()
    if last["ended_at"] is None:
        raise NotAllowed("TURN_RUNNING", "this turn is under way", state=last["state"], turn=last["id"])
    if origin.agent is Agent.LIVE and not last["agent_state"] and now - last["ended_at"] < _HANDED_OVER:
        raise Unavailable("AGENT_STATE_PENDING", "the agent's state after this turn is on its way: try again")


def _branch(origin: Session, asked: Fork, last: Row | None, now: datetime) -> Session:
    failed = last is not None and last["state"] == TurnState.FAILED
    return replace(
        origin,
        id=asked.session_id,
        title=asked.title or origin.title,
        state=TurnState.FAILED if failed else TurnState.IDLE,
        outcome="" if last is None or failed else last["outcome"],
        code=last["code"] if last is not None and failed else "",
        version=1,
        generation=0,
        created_at=now,
        updated_at=now,
        agent=Agent.NONE,
        started=False,
        job_id="",
        turn_id="" if last is None else seen_as(last["id"], asked.session_id),
        turn_number=asked.turn,
        starting="",
        forked_from=origin.id,
        fork_turn=asked.turn,
        forking=True,
        coordinator="",  # a branch of a worker's conversation is nobody's worker
    )
