"""Jobs, commands, runners and agents' states in Postgres: the agents' side of sessions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Float, Interval, Text, bindparam, delete, exists, func, select, union_all, update
from sqlalchemy.dialects.postgresql import insert

from services.kernel import jobs
from services.kernel.postgres import Database, Tx, compiled
from services.streaming.adapters import command_rows, purge_rows, turn_rows
from services.streaming.adapters.postgres import SHOWN, session_of
from services.streaming.adapters.tables import SESSION_OUTBOX, SESSIONS
from services.streaming.adapters.turn_tables import AGENT_STATES, GATES, JOBS, RUNNERS, STRETCHES, TURNS
from services.streaming.adapters.work import job_kind
from services.streaming.application.agent_ports import Command, Hold, Leased
from services.streaming.application.ports import SessionKey
from services.streaming.domain.offers import Offer

_s, _g, _j, _r, _a, _t = (one.c for one in (SESSIONS, GATES, JOBS, RUNNERS, AGENT_STATES, TURNS))
_p = STRETCHES.c
_o = SESSION_OUTBOX.c
_clock = func.clock_timestamp()
_MINE = (_s.tenant == bindparam("of_tenant")) & (_s.id == bindparam("of_id"))
_MY_STATES = (
    (_a.tenant == bindparam("of_tenant")) & (_a.session_id == bindparam("of_id")) & (_a.digest == bindparam("sha256"))
)
_soon = _clock + func.make_interval(0, 0, 0, 0, 0, 0, bindparam("seconds", type_=Float))
_announce = insert(RUNNERS).values(
    runner_id=bindparam("runner"),
    adapter=bindparam("adapter"),
    providers=bindparam("providers"),
    models=bindparam("models"),
    seen_until=_soon,
)
_ANNOUNCE = compiled(
    _announce.on_conflict_do_update(
        index_elements=["runner_id", "adapter"],
        set_={name: getattr(_announce.excluded, name) for name in ("providers", "models", "seen_until")},
    )
)
_SESSION = compiled(select(*SHOWN).where(_MINE, _s.deleted_at.is_(None)))
_LIVE = compiled(
    update(SESSIONS)
    .where(_MINE, _s.job_id == bindparam("of_job"), _s.agent != "live")
    .values(agent="live", version=_s.version + 1, updated_at=func.now())
)
_REASON = compiled(
    select(_s.deleted_at.is_not(None), _s.job_id != bindparam("of_job"))
    .select_from(SESSIONS.join(JOBS, (_j.tenant == _s.tenant) & (_j.subject == _s.id)))
    .where(_j.id == bindparam("of_job"))
)
_held_by = SESSIONS.join(JOBS, (_s.tenant == _j.tenant) & (_s.id == _j.subject) & (_s.job_id == _j.id))
_whose = select(_s.tenant, _s.id, _s.job_id).select_from(_held_by)
# Two halves, each by the partial index of its state.
_OVER = compiled(
    union_all(
        _whose.where(_j.state == "leased", _j.lease_until <= _clock),
        _whose.where(
            _j.state == "queued",
            _j.run_at <= _clock - func.make_interval(0, 0, 0, 0, 0, 0, bindparam("seconds", type_=Float)),
        ),
    ).limit(bindparam("most"))
)
_EXPIRING = compiled(
    select(_g.tenant, _g.session_id, _g.id)
    .where(_g.state == "open", _g.expires_at <= _clock)
    .order_by(_g.expires_at)
    .limit(bindparam("most"))
)
_KEEP = compiled(
    insert(AGENT_STATES)
    .values(
        tenant=bindparam("of_tenant"), session_id=bindparam("of_id"), digest=bindparam("sha256"), data=bindparam("data")
    )
    .on_conflict_do_nothing()
)
_STATE_OF_TURN = compiled(
    update(TURNS)
    .where(
        _t.tenant == bindparam("of_tenant"),
        _t.session_id == bindparam("of_id"),
        _t.id == bindparam("of_turn"),
        # What branches share does not change any more; a state that came late is told once.
        (_t.agent_state == "")
        | ~exists().where(_p.tenant == _t.tenant, _p.line == _t.session_id, _p.high >= _t.number),
    )
    .values(agent_state=bindparam("sha256"))
)
_NEWEST_STATE = compiled(
    update(SESSIONS).where(_MINE, _s.turn_id == bindparam("of_turn")).values(agent_state=bindparam("sha256"))
)
_STATE = compiled(select(_a.data).where(_MY_STATES))
_PURGEABLE = compiled(
    select(_s.tenant, _s.id)
    .where(_s.deleted_at < bindparam("before"), _s.purged_at.is_(None))
    .order_by(_s.deleted_at)
    .limit(bindparam("most"))
)
_SWEEP_SENT = compiled(
    delete(SESSION_OUTBOX).where(
        _o.sent_seq.is_not(None), _o.created_at < func.now() - bindparam("kept", type_=Interval)
    )
)
_SWEEP_RUNNERS = compiled(delete(RUNNERS).where(_r.seen_until < func.now() - bindparam("kept", type_=Interval)))
_SWEEP_JOBS = compiled(
    delete(JOBS).where(
        (_j.state == "done") | (_j.state == "failed") | (_j.state == "cancelled"),
        _j.updated_at < func.now() - bindparam("kept", type_=Interval),
    )
)
_RUNNER_OF = compiled(select(_j.runner_id).where(_j.id == bindparam("of_job")))
_SEEN = compiled(
    update(RUNNERS)
    .where(_r.runner_id == bindparam("runner", type_=Text))
    .values(seen_until=func.greatest(_r.seen_until, _soon))
)


class PostgresAgents:
    """Fills `Agents`."""

    def __init__(self, database: Database, lease: timedelta) -> None:
        self._database = database
        self._lease = lease

    async def announce(self, runner_id: str, offers: Sequence[Offer], seconds: float) -> None:
        """One row an adapter."""
        rows: list[dict[str, Any]] = [
            {
                "runner": runner_id,
                "adapter": one.adapter,
                "providers": list(one.providers),
                "models": list(one.models),
                "seconds": seconds,
            }
            for one in sorted(offers, key=lambda offer: offer.adapter)
        ]
        async with self._database.transaction() as tx:
            for row in rows:
                await tx.execute(_ANNOUNCE, **row)

    async def claim(self, adapters: Sequence[str], runner_id: str, claim_id: str, most: int) -> list[Leased]:
        """The job's row alone is locked; its session is read."""
        async with self._database.transaction() as tx:
            held = await jobs.claimed(tx, claim_id)
            if not held:
                for job in await jobs.candidates(tx, [job_kind(one) for one in adapters], most):
                    leased = await jobs.lease(tx, job.id, runner_id=runner_id, claim_id=claim_id, lease_for=self._lease)
                    held += [leased] if leased else []
            found = [await self._leased(tx, job) for job in held]
        return [one for one in found if one is not None]

    async def heartbeat(self, job_id: str, fence: int) -> datetime:
        """By the database's clock."""
        async with self._database.transaction() as tx:
            until, _ = await jobs.heartbeat(tx, job_id, fence, self._lease)
            runner = await tx.fetchval(_RUNNER_OF, of_job=job_id)
            await tx.execute(_SEEN, runner=runner, seconds=self._lease.total_seconds())
            return until

    async def held(self, job_id: str, fence: int) -> Hold:
        """Looked at, not locked."""
        async with self._database.transaction() as tx:
            job = await jobs.hold(tx, job_id, fence)
        return Hold(SessionKey(job.tenant, job.subject), job_id, fence)

    async def has_ended(self, job_id: str, fence: int) -> bool:
        """Nobody else has claimed it since: the fence is the same."""
        async with self._database.connection() as tx:
            job = await jobs.find(tx, job_id)
        return job.fence == fence and job.state in ("done", "failed") and job.reason != "runner_lost"

    async def attached(self, hold: Hold, taken: int) -> None:
        """The agent is live."""
        of = _of(hold.key)
        async with self._database.transaction() as tx:
            await tx.execute(_LIVE, **of, of_job=hold.job_id)
            await command_rows.taken(tx, of, taken)

    async def commands(self, hold: Hold, after: int) -> list[Command]:
        """What is told is noted first."""
        return await command_rows.tell(self._database, _of(hold.key), hold.job_id, after)

    async def taken(self, key: SessionKey, upto: int) -> None:
        """Not told again."""
        async with self._database.connection() as tx:
            await command_rows.taken(tx, _of(key), upto)

    async def note_said(self, key: SessionKey) -> bool:
        """The turn's row alone is locked."""
        async with self._database.connection() as tx:
            return await turn_rows.note_said(tx, _of(key))

    async def note_usage(self, key: SessionKey, turn_id: str, usage: dict[str, Any]) -> None:
        """The turn's row alone is locked."""
        async with self._database.connection() as tx:
            await turn_rows.note_usage(tx, _of(key), turn_id, usage)

    async def why_lost(self, job_id: str) -> str:
        """From the session's row."""
        async with self._database.connection() as tx:
            row = await tx.fetchrow(_REASON, of_job=job_id)
        if row is None or row[0]:
            return "deleted"
        return "resumed" if row[1] else ""

    async def over(self, most: int, unclaimed_seconds: float) -> list[tuple[SessionKey, str]]:
        """By the database's clock."""
        async with self._database.connection() as tx:
            rows = await tx.fetch(_OVER, most=most, seconds=unclaimed_seconds)
        return [(SessionKey(row["tenant"], row["id"]), row["job_id"]) for row in rows]

    async def expiring(self, most: int) -> list[tuple[SessionKey, str]]:
        """Those that wait longest first."""
        async with self._database.connection() as tx:
            rows = await tx.fetch(_EXPIRING, most=most)
        return [(SessionKey(row["tenant"], row["session_id"]), row["id"]) for row in rows]

    async def keep_state(self, key: SessionKey, turn_id: str, digest: str, data: bytes) -> None:
        """The same content is stored once a session."""
        of = _of(key)
        async with self._database.transaction() as tx:
            await tx.execute(_KEEP, **of, sha256=digest, data=data)
            # The session's row before the turn's, as in every command.
            await tx.execute(_NEWEST_STATE, **of, of_turn=turn_id, sha256=digest)
            await tx.execute(_STATE_OF_TURN, **of, of_turn=turn_id, sha256=digest)

    async def state(self, key: SessionKey, digest: str) -> bytes | None:
        """By content."""
        async with self._database.connection() as tx:
            data: bytes | None = await tx.fetchval(_STATE, **_of(key), sha256=digest)
        return data

    async def purgeable(self, before: datetime, most: int) -> list[SessionKey]:
        """Oldest first."""
        async with self._database.connection() as tx:
            rows = await tx.fetch(_PURGEABLE, before=before, most=most)
        return [SessionKey(row["tenant"], row["id"]) for row in rows]

    async def purge(self, key: SessionKey) -> None:
        """All of it that no branch shares."""
        async with self._database.transaction() as tx:
            await purge_rows.purge(tx, key)

    async def sweep(self, kept: timedelta) -> None:
        """Forgets what has served: events that are in the log, jobs that are over, runners that have gone."""
        async with self._database.connection() as tx:
            await tx.execute(_SWEEP_SENT, kept=kept)
            await tx.execute(_SWEEP_RUNNERS, kept=kept)
            await tx.execute(_SWEEP_JOBS, kept=kept)

    async def _leased(self, tx: Tx, job: jobs.Job) -> Leased | None:
        row = await tx.fetchrow(_SESSION, of_tenant=job.tenant, of_id=job.subject)
        if row is None:
            return None
        return Leased(job.id, job.fence, job.attempt, job.lease_until, session_of(row))


def _of(key: SessionKey) -> dict[str, str]:
    return {"of_tenant": key.tenant, "of_id": key.session}
