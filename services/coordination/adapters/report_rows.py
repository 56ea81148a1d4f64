"""Reports as they are collected, and workers as they are waited for, read from Postgres."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlalchemy import Boolean, Integer, Text, any_, bindparam, case, func, select, update
from sqlalchemy.dialects.postgresql import ARRAY

from services.coordination.adapters.reads import PostgresReads
from services.coordination.adapters.rows import worker_of
from services.coordination.adapters.tables import REPORTS, WORKERS
from services.coordination.adapters.work_sql import WORKER
from services.coordination.application.ports import Seen
from services.coordination.application.result_ports import Delivery, Standing
from services.coordination.domain.worker import Worker
from services.kernel.postgres import Database, Row, compiled

_w, _r = WORKERS.c, REPORTS.c
_ITS = (_w.tenant == bindparam("of_tenant")) & (_w.coordinator_id == bindparam("of_coordinator"))
_THOSE = (_w.tenant == bindparam("of_tenant")) & (_w.id == any_(bindparam("of_workers", type_=ARRAY(Text))))
_wanted = bindparam("of_version", type_=Integer)
_LOOK = compiled(
    select(
        *WORKER,
        _r.version,
        _r.final,
        _r.partial.label("report_partial"),
        _r.section.is_not(None).label("found"),
        case((bindparam("whole", type_=Boolean), _r.text), else_=func.coalesce(_r.section, _r.text)).label("shown"),
        _r.created_at.label("reported_at"),
    )
    .select_from(
        WORKERS.outerjoin(
            REPORTS,
            (_r.tenant == _w.tenant)
            & (_r.worker_id == _w.id)
            & (_r.version == case((_wanted == 0, _w.report_version), else_=_wanted)),
        )
    )
    .where(_ITS, _w.name == bindparam("of_name"))
)
_free = (
    select(_w.id)
    .where(_w.tenant == bindparam("of_tenant"), _w.id == bindparam("of_id"))
    .with_for_update(skip_locked=True)
    .scalar_subquery()
)
_COLLECTED = compiled(
    update(WORKERS)
    .where(
        _w.tenant == bindparam("of_tenant"), _w.id == _free, _w.collected_version < bindparam("at_least", type_=Integer)
    )
    .values(collected_version=bindparam("at_least", type_=Integer))
)
_STANDING = (_w.id, _w.name, _w.ended_at.is_not(None).label("ended"))
_ALL = compiled(select(*_STANDING).where(_ITS).order_by(_w.created_at, _w.id))
_STAND = compiled(select(*_STANDING).where(_THOSE))
_WORKERS = compiled(select(*WORKER).where(_THOSE).order_by(_w.created_at, _w.id))


class PostgresMailbox:
    """Fills `Mailbox`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def look(
        self, tenant: str, coordinator_id: str, name: str, version: int, full_text: bool
    ) -> tuple[Worker, Delivery | None] | None:
        """One statement: worker and report are of one moment."""
        async with self._database.connection() as tx:
            row = await tx.fetchrow(
                _LOOK,
                of_tenant=tenant,
                of_coordinator=coordinator_id,
                of_name=name,
                of_version=version,
                whole=full_text,
            )
        return None if row is None else (worker_of(row), _delivery(row, full_text))

    async def collected(self, worker: Worker, version: int) -> None:
        """A locked row is skipped: collecting never waits."""
        async with self._database.connection() as tx:
            await tx.execute(_COLLECTED, of_tenant=worker.tenant, of_id=worker.id, at_least=version)


class PostgresRoll:
    """Fills `Roll`."""

    def __init__(self, database: Database, reads: PostgresReads) -> None:
        self._database = database
        self._reads = reads

    async def all(self, tenant: str, coordinator_id: str) -> Sequence[Standing]:
        """At most limits.WORKERS_MOST."""
        async with self._database.connection() as tx:
            rows = await tx.fetch(_ALL, of_tenant=tenant, of_coordinator=coordinator_id)
        return [Standing(*row) for row in rows]

    async def standing(self, tenant: str, worker_ids: Collection[str]) -> Sequence[Standing]:
        """By the primary key."""
        async with self._database.connection() as tx:
            rows = await tx.fetch(_STAND, of_tenant=tenant, of_workers=list(worker_ids))
        return [Standing(*row) for row in rows]

    async def those(self, tenant: str, coordinator_id: str, worker_ids: Collection[str]) -> Sequence[Seen]:
        """With notes and short results."""
        return await self._reads.those(tenant, coordinator_id, worker_ids)

    async def workers(self, tenant: str, worker_ids: Collection[str]) -> Sequence[Worker]:
        """The rows alone."""
        async with self._database.connection() as tx:
            rows = await tx.fetch(_WORKERS, of_tenant=tenant, of_workers=list(worker_ids))
        return [worker_of(row) for row in rows]


def _delivery(row: Row, full_text: bool) -> Delivery | None:
    if row["version"] is None:
        return None
    whole = full_text or row["found"]
    text = row["shown"] if whole else row["shown"].strip()
    return Delivery(row["version"], row["final"], row["report_partial"], row["found"], text, row["reported_at"])
