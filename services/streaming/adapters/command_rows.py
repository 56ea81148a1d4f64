"""Statements of commands for an agent (S.5): queued inside the session's row lock, told in order by whoever holds its
job, taken by the agent. What is told is noted first, under the job's lock: once its job has ended, nobody is told."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import bindparam, false, insert, select, true, update

from services.kernel.postgres import Database, Row, Tx, compiled
from services.streaming.adapters.tables import SESSIONS
from services.streaming.adapters.turn_tables import COMMANDS, JOBS
from services.streaming.application.agent_ports import Command
from services.streaming.domain.errors import lease_lost

_AT_ONCE = 64
_s, _c, _j = SESSIONS.c, COMMANDS.c, JOBS.c
_WAITING = (_c.tenant == bindparam("of_tenant")) & (_c.session_id == bindparam("of_id")) & (_c.state == "waiting")
_NEXT = compiled(
    update(SESSIONS)
    .where(_s.tenant == bindparam("of_tenant"), _s.id == bindparam("of_id"))
    .values(command_seq=_s.command_seq + 1)
    .returning(_s.command_seq)
)
_ADD = compiled(
    insert(COMMANDS).values(
        {
            "tenant": bindparam("of_tenant"),
            "session_id": bindparam("of_id"),
            "told": false(),
            **{name: bindparam(name) for name in ("sequence", "turn_id", "kind", "payload", "created_at")},
        }
    )
)
_DROP = compiled(update(COMMANDS).where(_WAITING).values(state="dropped"))
_DROP_BUT_ANSWERS = compiled(update(COMMANDS).where(_WAITING, _c.kind != "gate_answer").values(state="dropped"))
_ALL_WAITING = compiled(select(_c.turn_id, _c.kind, _c.payload, _c.told).where(_WAITING).order_by(_c.sequence))
_JOB = compiled(select(_j.state).where(_j.id == bindparam("of_job")))
_JOB_KEPT = compiled(select(_j.state).where(_j.id == bindparam("of_job")).with_for_update(read=True))
_NEW = compiled(
    select(_c.sequence, _c.turn_id, _c.kind, _c.payload, _c.told)
    .where(
        _WAITING,
        _c.sequence > bindparam("after_one"),
        select(_j.id).where(_j.id == bindparam("of_job"), _j.state == "leased").exists(),
    )
    .order_by(_c.sequence)
    .limit(_AT_ONCE)
)
_TELL = compiled(
    update(COMMANDS)
    .where(_WAITING, _c.sequence > bindparam("after_one"), _c.sequence <= bindparam("upto"), _c.told == false())
    .values(told=true())
)
_TAKEN = compiled(update(COMMANDS).where(_WAITING, _c.sequence <= bindparam("upto")).values(state="taken"))


async def add(tx: Tx, of: dict[str, str], turn_id: str, kind: str, payload: dict[str, Any], now: datetime) -> None:
    """The session's next one."""
    sequence = await tx.fetchval(_NEXT, **of)
    row = {"sequence": sequence, "turn_id": turn_id, "kind": kind, "payload": payload, "created_at": now}
    await tx.execute(_ADD, **of, **row)


async def drop(tx: Tx, of: dict[str, str], *, but_answers: bool) -> None:
    """Those that wait."""
    await tx.execute(_DROP_BUT_ANSWERS if but_answers else _DROP, **of)


async def untold(tx: Tx, of: dict[str, str], turn_id: str) -> list[str]:
    """The words of a turn that no agent was ever told of: its prompt's, and what was said to steer it; none where its
    prompt was told. The caller has ended the job of whoever could tell them."""
    rows = await tx.fetch(_ALL_WAITING, **of)
    first = rows[0] if rows else None
    if first is None or (first["kind"], first["turn_id"]) != ("prompt", turn_id) or first["told"]:
        return []
    return [row["payload"]["text"] for row in rows if row["kind"] in ("prompt", "steer")]


async def tell(database: Database, of: dict[str, str], job_id: str, after: int) -> list[Command]:
    """Those above the sequence, in order, for the holder of the job. Conflict LEASE_LOST where it has ended. A lease
    that ran out is still the holder's until the sweep takes it: a pause is no loss."""
    async with database.connection() as tx:
        if await tx.fetchval(_JOB, of_job=job_id) != "leased":
            raise lease_lost(job_id)
        rows = await tx.fetch(_NEW, **of, of_job=job_id, after_one=after)
    if not all(row["told"] for row in rows):
        async with database.transaction() as tx:
            if await tx.fetchval(_JOB_KEPT, of_job=job_id) != "leased":
                raise lease_lost(job_id)
            rows = await tx.fetch(_NEW, **of, of_job=job_id, after_one=after)
            if rows:
                await tx.execute(_TELL, **of, after_one=after, upto=rows[-1]["sequence"])
    return [_command(row) for row in rows]


async def taken(tx: Tx, of: dict[str, str], upto: int) -> None:
    """The agent has them; they are not told again."""
    await tx.execute(_TAKEN, **of, upto=upto)


def _command(row: Row) -> Command:
    return Command(row["sequence"], row["turn_id"], row["kind"], row["payload"])
