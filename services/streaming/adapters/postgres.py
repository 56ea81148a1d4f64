"""Sessions and the outbox of their streams in Postgres."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import ARRAY, BigInteger, bindparam, case, func, select, tuple_, update
from sqlalchemy.dialects.postgresql import insert

from services.kernel import frames, idempotency, outbox
from services.kernel.ids import new_id
from services.kernel.postgres import Database, Row, Tx, compiled
from services.kernel.principal import Principal
from services.streaming.adapters.tables import SESSION_OUTBOX, SESSIONS
from services.streaming.application.ports import Attached, Page, PendingEvent, SessionKey
from services.streaming.domain.errors import (
    attach_fenced,
    lease_lost,
    session_deleted,
    session_exists,
    session_not_found,
)
from services.streaming.domain.log import Entry, Record
from services.streaming.domain.session import Agent, Session, TurnState

_s, _o = SESSIONS.c, SESSION_OUTBOX.c
_FIELDS = (
    "tenant",
    "id",
    "state",
    "title",
    "adapter",
    "provider",
    "model",
    "thinking",
    "version",
    "generation",
    "created_at",
    "updated_at",
    "agent",
    "started",
    "job_id",
    "turn_id",
    "outcome",
    "code",
    "agent_state",
    "turn_number",
    "starting",
    "forked_from",
    "fork_turn",
    "forking",
    "coordinator",
)
SHOWN = [_s[name] for name in _FIELDS]
_MINE = (_s.tenant == bindparam("of_tenant")) & (_s.id == bindparam("of_id"))
_ROWS_OF = (_o.tenant == bindparam("of_tenant")) & (_o.session_id == bindparam("of_id"))
_PENDING_MOST = 256

_CREATE = compiled(
    insert(SESSIONS)
    .values({name: bindparam(name) for name in (*_FIELDS, "workspace_wanted", "deleted_at")})
    .on_conflict_do_nothing()
    .returning(_s.id)
)
_TAKEN = compiled(select(*SHOWN, _s.deleted_at).where(_MINE))
_GET = compiled(select(*SHOWN).where(_MINE, _s.deleted_at.is_(None)))
_NEWEST_FIRST = (
    select(*SHOWN)
    .where(_s.tenant == bindparam("of_tenant"), _s.deleted_at.is_(None))
    .order_by(_s.created_at.desc(), _s.id.desc())
)
_AFTER = tuple_(_s.created_at, _s.id) < tuple_(bindparam("after_time", type_=_s.created_at.type), bindparam("after_id"))
_LISTS = {False: _NEWEST_FIRST, True: _NEWEST_FIRST.where(_s.coordinator == "")}
_FIRST_PAGE = {top: compiled(all_.limit(bindparam("size"))) for top, all_ in _LISTS.items()}
_NEXT_PAGE = {top: compiled(all_.where(_AFTER).limit(bindparam("size"))) for top, all_ in _LISTS.items()}
_RECORD = compiled(select(_s.generation, _s.tail_generation, _s.tail_n).where(_MINE))
_RAISE = compiled(
    update(SESSIONS)
    .where(_MINE, _s.generation == bindparam("held"))
    .values(generation=bindparam("raised"), tail_seq=0, version=_s.version + 1, updated_at=func.now())
)
_LOOK_FROM_THE_START = compiled(update(SESSION_OUTBOX).where(_ROWS_OF, _o.sent_seq.is_(None)).values(after_seq=0))
_ATTACH = compiled(
    update(SESSIONS)
    .where(
        _MINE,
        _s.deleted_at.is_(None),
        (bindparam("given") == 0) | (bindparam("given") >= _s.numbering),
        _s.job_id == bindparam("of_job"),
    )
    .values(
        attach_epoch=_s.attach_epoch + 1,
        numbering=case((bindparam("given") == 0, _s.attach_epoch + 1), else_=_s.numbering),
    )
    .returning(_s.attach_epoch, _s.numbering)
)
_SAY = compiled(
    insert(SESSION_OUTBOX).from_select(
        ["tenant", "session_id", "event_id", "name", "data", "after_seq"],
        select(
            _s.tenant,
            _s.id,
            bindparam("event_id", type_=_o.event_id.type),
            bindparam("name", type_=_o.name.type),
            bindparam("data", type_=_o.data.type),
            _s.tail_seq,
        ).where(_MINE),
    )
)
_PENDING = compiled(
    select(_o.id, _o.event_id, _o.name, _o.data, _o.after_seq)
    .where(_ROWS_OF, _o.sent_seq.is_(None))
    .order_by(_o.id)
    .limit(_PENDING_MOST)
)
_SENT = compiled(
    update(SESSION_OUTBOX)
    .where(_o.id == func.any(bindparam("rows", type_=ARRAY(BigInteger))), _o.sent_seq.is_(None))
    .values(sent_seq=bindparam("seq"))
)
_TAIL = compiled(
    update(SESSIONS)
    .where(_MINE, _s.tail_seq < bindparam("seq"))
    .values(tail_generation=bindparam("tail_gen"), tail_n=bindparam("tail_at"), tail_seq=bindparam("seq"))
)
_WAITING = compiled(
    select(_o.tenant, _o.session_id)
    .where(_o.sent_seq.is_(None))
    .group_by(_o.tenant, _o.session_id)
    .order_by(func.min(_o.id))
    .limit(bindparam("most"))
)


async def say(tx: Tx, key: SessionKey, name: str, body: dict[str, object]) -> None:
    """Writes an event that tells of state, in the transaction that changes the state (S.2). After the commit, ping
    `SWEEP_SUBJECT`, or flush the session's appender."""
    await say_line(tx, key, name, frames.line_of_json(body))


async def say_line(tx: Tx, key: SessionKey, name: str, line: bytes) -> None:
    """As `say`, of data that is a line already, at most 64 KiB."""
    await tx.execute(_SAY, **_of(key), event_id=new_id("evt"), name=name, data=line)


async def fact(tx: Tx, session: Session, kind: str, actor: str, now: datetime, before: str = "") -> None:
    """Writes a domain fact for the feeds (S.4): thin, ids, states, who and when. After the commit, ping the relay."""
    event_id = new_id("evt")
    payload = {
        "event_id": event_id,
        "session_id": session.id,
        "kind": kind,
        "from": before,
        "to": session.state,
        "turn_id": session.turn_id,
        "outcome": session.code or session.outcome,
        "actor": actor,
        "time": now.astimezone(UTC).isoformat().replace("+00:00", "Z"),
    }
    await outbox.enqueue(
        tx,
        tenant=session.tenant,
        scope=session.id,
        service="streaming",
        type="session",
        event_id=event_id,
        payload=payload,
    )


async def add_session(
    tx: Tx, session: Session, *, workspace_wanted: bool = False, deleted_at: datetime | None = None
) -> bool:
    """A new row. False: its id is taken."""
    row = {name: getattr(session, name) for name in _FIELDS}
    return await tx.fetchval(_CREATE, **row, workspace_wanted=workspace_wanted, deleted_at=deleted_at) is not None


async def taken(tx: Tx, key: SessionKey) -> Session | None:
    """The session that has the id, if any. NotAllowed SESSION_DELETED where it is deleted."""
    row = await tx.fetchrow(_TAKEN, **_of(key))
    if row is None:
        return None
    if row["deleted_at"] is not None:
        raise session_deleted()
    return session_of(row)


class PostgresSessions:
    """Fills `SessionStore`. `workspaces`: whether planning is to be told of new sessions."""

    def __init__(self, database: Database, *, workspaces: bool = False) -> None:
        self._database = database
        self._workspaces = workspaces

    async def create(self, session: Session, caller: Principal, request_id: str, digest: bytes) -> Session:
        """One transaction: the key, the session, the first event of its stream. An id that is taken is looked at."""
        idempotent = idempotency.key_for(caller, "CreateSession", request_id)
        async with self._database.transaction() as tx:
            answered = await idempotency.remember(tx, idempotent, digest)
            if answered is not None:
                return await session_in(tx, SessionKey(session.tenant, answered.decode()))
            made = await add_session(tx, session, workspace_wanted=self._workspaces)
            if made:
                await say(tx, SessionKey(session.tenant, session.id), "turn", {"state": "idle"})
                await fact(tx, session, "created", f"{caller.kind}:{caller.subject}", session.created_at)
            else:
                there = await taken(tx, SessionKey(session.tenant, session.id))
                if there is None or there.adapter != session.adapter:
                    raise session_exists(session.id)
                session = there
            await idempotency.store(tx, idempotent, session.id.encode())
        return session

    async def get(self, key: SessionKey) -> Session:
        """The session, or NotFound."""
        async with self._database.connection() as tx:
            return await session_in(tx, key)

    async def page(self, tenant: str, after: tuple[str, str] | None, size: int, *, top_level: bool = False) -> Page:
        """One row more than asked for tells whether there are further ones."""
        async with self._database.connection() as tx:
            if after is None:
                rows = await tx.fetch(_FIRST_PAGE[top_level], of_tenant=tenant, size=size + 1)
            else:
                time = datetime.fromisoformat(after[0])
                rows = await tx.fetch(
                    _NEXT_PAGE[top_level], of_tenant=tenant, after_time=time, after_id=after[1], size=size + 1
                )
        return Page([session_of(row) for row in rows[:size]], len(rows) > size)

    async def record(self, key: SessionKey) -> Record:
        """What is known of the session's log."""
        async with self._database.connection() as tx:
            row = await tx.fetchrow(_RECORD, **_of(key))
        if row is None:
            raise session_not_found(key.session)
        return Record(row["generation"], row["tail_generation"], row["tail_n"])

    async def raise_generation(self, key: SessionKey, held: int, to: int) -> bool:
        """A conditional update. The stream may be another one: sequences that were noted before say nothing now."""
        async with self._database.transaction() as tx:
            if await tx.execute(_RAISE, **_of(key), held=held, raised=to) != 1:
                return False
            await tx.execute(_LOOK_FROM_THE_START, **_of(key))
            return True

    async def attach(self, key: SessionKey, epoch: int, job_id: str) -> Attached:
        """Epochs of one numbering are those from its first on; a numbering that was left cannot be gone on with. Nor
        can a job that the session is not held by any more, however late its holder comes."""
        async with self._database.connection() as tx:
            row = await tx.fetchrow(_ATTACH, **_of(key), given=epoch, of_job=job_id)
            if row is None:
                session = await session_in(tx, key)
                if job_id != session.job_id:
                    raise lease_lost(job_id)
                raise attach_fenced(session.generation)
        return Attached(row["attach_epoch"], row["numbering"])

    async def pending(self, key: SessionKey) -> list[PendingEvent]:
        """Rows not in the log yet, in order."""
        async with self._database.connection() as tx:
            rows = await tx.fetch(_PENDING, **_of(key))
        return [PendingEvent(row["id"], row["event_id"], row["name"], row["data"], row["after_seq"]) for row in rows]

    async def sent(self, key: SessionKey, rows: list[int], tail: Entry) -> None:
        """The rows are in the log; so is the tail recorded, which never goes back."""
        async with self._database.transaction() as tx:
            await tx.execute(_SENT, rows=rows, seq=tail.seq)
            await tx.execute(_TAIL, **_of(key), seq=tail.seq, tail_gen=tail.generation, tail_at=tail.n)

    async def with_pending(self, most: int) -> list[SessionKey]:
        """Sessions with rows not in the log yet."""
        async with self._database.connection() as tx:
            rows = await tx.fetch(_WAITING, most=most)
        return [SessionKey(row["tenant"], row["session_id"]) for row in rows]


async def session_in(tx: Tx, key: SessionKey) -> Session:
    """The session, or NotFound."""
    row = await tx.fetchrow(_GET, **_of(key))
    if row is None:
        raise session_not_found(key.session)
    return session_of(row)


def _of(key: SessionKey) -> dict[str, str]:
    return {"of_tenant": key.tenant, "of_id": key.session}


def session_of(row: Row) -> Session:
    """A session out of a row that has the SHOWN columns."""
    fields = {name: row[name] for name in _FIELDS}
    return Session(**{**fields, "state": TurnState(fields["state"]), "agent": Agent(fields["agent"])})
