"""Copies a session's past into another one: turns, messages, agents' states (design/streaming.md S.7)."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import ARRAY, Text, bindparam, case, func, insert, literal, select

from services.kernel.errors import NotAllowed, Unavailable
from services.kernel.ids import new_id
from services.kernel.postgres import Database, Row, Tx, compiled
from services.streaming.adapters import state_rows
from services.streaming.adapters.postgres import add_session, fact, say, session_in, taken
from services.streaming.adapters.turn_tables import MESSAGES, TURNS
from services.streaming.adapters.wake import Wake
from services.streaming.application.forking import Fork
from services.streaming.application.ports import SessionKey
from services.streaming.domain.errors import session_exists, session_forking, turn_not_found
from services.streaming.domain.session import Agent, Session, TurnState, new_session

_HANDED_OVER: Final = timedelta(seconds=3)
"""How long after its end a turn's state may be on its way from the runner."""
_t, _m = TURNS.c, MESSAGES.c
_ids = (
    func.unnest(bindparam("olds", type_=ARRAY(Text)), bindparam("news", type_=ARRAY(Text)))
    .table_valued("old", "new", name="ids")
    .render_derived()
)
_COPIED: Final = (
    *("number", "state", "text", "asked_by", "abort_requested", "outcome", "code", "usage", "agent_state"),
    *("said", "begun", "created_at", "ended_at"),
)
_PAST = compiled(
    select(_t.id, _t.number, _t.state, _t.outcome, _t.code, _t.agent_state, _t.ended_at)
    .where(
        _t.tenant == bindparam("of_tenant"),
        _t.session_id == bindparam("of_id"),
        _t.number >= 1,
        _t.number <= bindparam("most"),
    )
    .order_by(_t.number)
)
_COPY_TURNS = compiled(
    insert(TURNS).from_select(
        ["tenant", "session_id", "id", "after_seq", "origin_turn_id", *_COPIED],
        select(
            _t.tenant,
            bindparam("to_id", type_=Text),
            _ids.c.new,
            literal(0),
            case((_t.origin_turn_id == "", _t.id), else_=_t.origin_turn_id),
            *(_t[name] for name in _COPIED),
        )
        .select_from(TURNS.join(_ids, _t.id == _ids.c.old))
        .where(_t.tenant == bindparam("of_tenant"), _t.session_id == bindparam("of_id")),
    )
)
_COPY_MESSAGES = compiled(
    insert(MESSAGES).from_select(
        ["tenant", "session_id", "turn_id", "sequence", "role", "text", "partial", "created_at"],
        select(
            _m.tenant,
            bindparam("to_id", type_=Text),
            _ids.c.new,
            func.row_number().over(order_by=_m.sequence),
            _m.role,
            _m.text,
            _m.partial,
            _m.created_at,
        )
        .select_from(MESSAGES.join(_ids, _m.turn_id == _ids.c.old))
        .where(_m.tenant == bindparam("of_tenant"), _m.session_id == bindparam("of_id")),
    )
)


class PostgresForks:
    """Fills `Forks`."""

    def __init__(self, database: Database, wake: Wake) -> None:
        self._database = database
        self._wake = wake

    async def fork(self, asked: Fork, now: datetime) -> Session:
        """One transaction. Turns that have ended do not change, so that the origin needs no lock."""
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
        origin = await session_in(tx, asked.origin)
        if origin.forking:
            raise session_forking()
        of = {"of_tenant": asked.origin.tenant, "of_id": asked.origin.session}
        past = await tx.fetch(_PAST, **of, most=asked.turn)
        _check(origin, past, asked.turn, now)
        ids = {row["id"]: new_id("trn") for row in past}
        agent_state = await state_rows.newest_known(tx, origin.tenant, [row["agent_state"] for row in past])
        branch = replace(_branch(origin, asked, past, ids, now), agent_state=agent_state)
        if not await add_session(tx, branch):
            return None
        copied: dict[str, Any] = {**of, "to_id": branch.id, "olds": list(ids), "news": list(ids.values())}
        await tx.execute(_COPY_TURNS, **copied)
        await tx.execute(_COPY_MESSAGES, **copied)
        await state_rows.copy(tx, branch.tenant, branch.agent_state, branch.id)
        body = {"state": branch.state, "turn_id": branch.turn_id, "outcome": branch.outcome, "code": branch.code}
        await say(tx, asked.key, "turn", {name: value for name, value in body.items() if value})
        await fact(tx, branch, "created", asked.by, now)
        return branch


def _check(origin: Session, past: list[Row], turn: int, now: datetime) -> None:
    if not turn:
        return
    if not past or past[-1]["number"] != turn:
        raise turn_not_found()
    last = past[-1]
    if last["ended_at"] is None:
        raise NotAllowed("TURN_RUNNING", "this turn is under way", state=last["state"], turn=last["id"])
    if origin.agent is Agent.LIVE and not last["agent_state"] and now - last["ended_at"] < _HANDED_OVER:
        raise Unavailable("AGENT_STATE_PENDING", "the agent's state after this turn is on its way: try again")


def _branch(origin: Session, asked: Fork, past: list[Row], ids: dict[str, str], now: datetime) -> Session:
    last = past[-1] if past else None
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
        turn_id="" if last is None else ids[last["id"]],
        turn_number=asked.turn,
        starting="",
        forked_from=origin.id,
        fork_turn=asked.turn,
        forking=True,
        coordinator="",  # a branch of a worker's conversation is nobody's worker
    )
