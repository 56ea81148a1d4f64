"""Agents' states by their content. A branch holds the one that it goes on from; its older turns share those of the
session where they happened, and inherit them when that one is purged. Data is never copied for an older turn."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import ARRAY, Text, bindparam, exists, func, select, update
from sqlalchemy.dialects.postgresql import insert

from services.kernel.postgres import Tx, compiled
from services.streaming.adapters.tables import SESSIONS
from services.streaming.adapters.turn_tables import AGENT_STATES, TURNS

_s, _t, _a = SESSIONS.c, TURNS.c, AGENT_STATES.c
_others = AGENT_STATES.alias("others")

_KNOWN = compiled(
    select(_a.digest)
    .distinct()
    .where(_a.tenant == bindparam("of_tenant"), _a.digest == func.any(bindparam("digests", type_=ARRAY(Text))))
)
_COPY = compiled(
    insert(AGENT_STATES)
    .from_select(
        ["tenant", "session_id", "digest", "data", "created_at"],
        select(_a.tenant, bindparam("to_id", type_=Text), _a.digest, _a.data, _a.created_at)
        .where(_a.tenant == bindparam("of_tenant"), _a.digest == bindparam("sha256"))
        .limit(1),
    )
    .on_conflict_do_nothing()
)
_heirs = (
    select(_t.agent_state.label("digest"), func.min(_t.session_id).label("heir"))
    .select_from(TURNS.join(SESSIONS, (_s.tenant == _t.tenant) & (_s.id == _t.session_id)))
    .where(
        _t.tenant == bindparam("of_tenant"),
        _t.agent_state != "",
        _t.agent_state == func.any(bindparam("digests", type_=ARRAY(Text))),
        _t.session_id != bindparam("of_id"),
        _s.deleted_at.is_(None),
    )
    .group_by(_t.agent_state)
    .subquery("heirs")
)
_MINE = (_a.tenant == bindparam("of_tenant")) & (_a.session_id == bindparam("of_id"))
_HELD = compiled(select(_a.digest).where(_MINE))
_INHERIT = compiled(
    update(AGENT_STATES)
    .where(
        _MINE,
        _a.digest == _heirs.c.digest,
        ~exists().where(
            _others.c.tenant == _a.tenant, _others.c.digest == _a.digest, _others.c.session_id != _a.session_id
        ),
    )
    .values(session_id=_heirs.c.heir)
)
_IN_LINE = compiled(select(func.pg_advisory_xact_lock(func.hashtextextended(bindparam("line", type_=Text), 0))))


async def newest_known(tx: Tx, tenant: str, digests: Sequence[str]) -> str:
    """The last of these that is stored in any session of the tenant; empty: none is."""
    rows = await tx.fetch(_KNOWN, of_tenant=tenant, digests=sorted({*digests} - {""}))
    known = {row["digest"] for row in rows}
    return next((one for one in reversed(digests) if one in known), "")


async def copy(tx: Tx, tenant: str, digest: str, to_session: str) -> None:
    """The session holds it too."""
    await tx.execute(_COPY, of_tenant=tenant, sha256=digest, to_id=to_session)


async def hand_over(tx: Tx, tenant: str, session_id: str) -> None:
    """What other sessions' turns use and nobody else holds is theirs from now on; before the session is purged. Purges
    of one tenant stand in a line: of two that hold the same state the last one sees that it is."""
    await tx.execute(_IN_LINE, line=f"streaming.purge.{tenant}")
    of = {"of_tenant": tenant, "of_id": session_id}
    digests = [row["digest"] for row in await tx.fetch(_HELD, **of)]
    if digests:
        await tx.execute(_INHERIT, **of, digests=digests)
