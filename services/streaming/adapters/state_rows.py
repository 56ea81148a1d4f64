"""Agents' states by their content. A branch holds the one that it goes on from; those of older turns stand with the
session where they happened. Branches of before, whose turns are copies, inherit theirs when that one is purged. Data is
never copied for an older turn."""

from __future__ import annotations

from sqlalchemy import ARRAY, Text, bindparam, delete, exists, func, select, update
from sqlalchemy.dialects.postgresql import insert

from services.kernel.postgres import Tx, compiled
from services.streaming.adapters.tables import SESSIONS
from services.streaming.adapters.turn_tables import AGENT_STATES, STRETCHES, TURNS

_s, _t, _a, _p = SESSIONS.c, TURNS.c, AGENT_STATES.c, STRETCHES.c
_others = AGENT_STATES.alias("others")

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
        _s.deleted_at.is_(None)
        | exists().where(_p.tenant == _t.tenant, _p.line == _t.session_id, _p.high >= _t.number),
    )
    .group_by(_t.agent_state)
    .subquery("heirs")
)
_MINE = (_a.tenant == bindparam("of_tenant")) & (_a.session_id == bindparam("of_id"))
_UNUSED = compiled(
    select(_a.digest).where(
        _MINE,
        ~exists().where(_t.tenant == _a.tenant, _t.session_id == _a.session_id, _t.agent_state == _a.digest),
    )
)
_DROP = compiled(delete(AGENT_STATES).where(_MINE, _a.digest == func.any(bindparam("digests", type_=ARRAY(Text)))))
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


async def copy(tx: Tx, tenant: str, digest: str, to_session: str) -> None:
    """The session holds it too."""
    await tx.execute(_COPY, of_tenant=tenant, sha256=digest, to_id=to_session)


async def hand_over(tx: Tx, tenant: str, session_id: str) -> None:
    """What the session holds and no turn that stands under it uses: where other sessions' turns use it and nobody else
    holds it, it is theirs from now on; the rest goes."""
    of = {"of_tenant": tenant, "of_id": session_id}
    digests = [row["digest"] for row in await tx.fetch(_UNUSED, **of)]
    if digests:
        await tx.execute(_INHERIT, **of, digests=digests)
        await tx.execute(_DROP, **of, digests=digests)
