"""The graph of a family: turns by time, each once, and the sessions that stand on them."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import bindparam, func, literal_column, select, true, tuple_
from sqlalchemy.dialects.postgresql import aggregate_order_by

from services.kernel.postgres import compiled
from services.planning.adapters.blob_sql import text_of
from services.planning.adapters.tables import STEPS, STRETCHES, TURNS, WORKSPACES
from services.planning.adapters.turn_sql import TURN_FIELDS
from services.planning.adapters.workspace_sql import SHOWN

_w, _s, _n = WORKSPACES.c, STEPS.c, TURNS.alias("node")


def _following() -> Any:
    """What the next turn of the same line kept."""
    after = TURNS.alias("after")
    return (
        select(after.c.kept, after.c.leaves, after.c.done_leaves, after.c.objective)
        .where(after.c.tenant == _n.c.tenant, after.c.line == _n.c.line, after.c.number > _n.c.number)
        .order_by(after.c.number)
        .limit(1)
        .correlate(_n)
        .lateral("following")
    )


def _previous() -> Any:
    """The turn before it in its line."""
    before = TURNS.alias("before")
    return (
        select(before.c.turn_id)
        .where(before.c.tenant == _n.c.tenant, before.c.line == _n.c.line, before.c.number < _n.c.number)
        .order_by(before.c.number.desc())
        .limit(1)
        .correlate(_n)
        .scalar_subquery()
    )


def _fork() -> Any:
    """The turn that its line begins after: where the stretch before that of its line ends, in whatever session has
    both (the line's own may be gone)."""
    own, up, root = STRETCHES.alias("own"), STRETCHES.alias("up"), TURNS.alias("root")
    both = own.join(up, (up.c.tenant == own.c.tenant) & (up.c.session_id == own.c.session_id))
    return (
        select(root.c.turn_id)
        .select_from(
            both.join(
                root,
                (root.c.tenant == up.c.tenant) & (root.c.line == up.c.line) & (root.c.number == up.c.high),
            )
        )
        .where(own.c.tenant == _n.c.tenant, own.c.line == _n.c.line, up.c.high <= own.c.low)
        .order_by(up.c.high.desc())
        .limit(1)
        .correlate(_n)
        .scalar_subquery()
    )


def _holder() -> Any:
    """A session that has it, best the one where it happened."""
    has = STRETCHES.alias("has")
    return (
        select(has.c.session_id)
        .where(
            has.c.tenant == _n.c.tenant,
            has.c.line == _n.c.line,
            _n.c.number > has.c.low,
            _n.c.number <= has.c.high,
        )
        .order_by((has.c.session_id == has.c.line).desc(), has.c.session_id)
        .limit(1)
        .correlate(_n)
        .scalar_subquery()
    )


def _nodes(*, first: bool) -> Any:
    following = _following()
    of = (_n.c.tenant == bindparam("of_tenant")) & (_n.c.family == bindparam("of_family"))
    if not first:
        place = tuple_(bindparam("after_time", type_=_n.c.begun_at.type), bindparam("after_id"))
        of &= tuple_(_n.c.begun_at, _n.c.turn_id) > place
    return (
        select(
            *(_n.c[name] for name in TURN_FIELDS),
            func.coalesce(_previous(), _fork(), "").label("parent_turn_id"),
            func.coalesce(_holder(), "").label("holder"),
            following.c.kept.label("next_kept"),
            following.c.leaves.label("next_leaves"),
            following.c.done_leaves.label("next_done_leaves"),
            func.coalesce(text_of(_n.c.tenant, _n.c.family, following.c.objective, _n, following), "").label(
                "next_objective"
            ),
        )
        .select_from(_n.outerjoin(following, true()))
        .where(of)
        .order_by(_n.c.begun_at, _n.c.turn_id)
        .limit(bindparam("most"))
    )


FIRST_NODES: Final = compiled(_nodes(first=True))
NEXT_NODES: Final = compiled(_nodes(first=False))

_SHAPE = (
    select(
        func.coalesce(
            func.jsonb_agg(aggregate_order_by(func.jsonb_build_array(_s.depth, _s.done), _s.position)),
            literal_column("'[]'::jsonb"),
        )
    )
    .where(_s.tenant == _w.tenant, _s.session_id == _w.session_id)
    .correlate(WORKSPACES)
    .scalar_subquery()
)
_forked = TURNS.alias("forked")
_FORK_TURN = (
    select(_forked.c.turn_id)
    .select_from(
        STRETCHES.join(_forked, (_forked.c.tenant == STRETCHES.c.tenant) & (_forked.c.line == STRETCHES.c.line))
    )
    .where(
        STRETCHES.c.tenant == _w.tenant,
        STRETCHES.c.session_id == _w.session_id,
        _forked.c.number == _w.fork_turn,
        _forked.c.number > STRETCHES.c.low,
        _forked.c.number <= STRETCHES.c.high,
    )
    .correlate(WORKSPACES)
    .scalar_subquery()
)
HEADS: Final = compiled(
    select(*SHOWN, _SHAPE.label("shape"), func.coalesce(_FORK_TURN, "").label("fork_turn_id"))
    .where(_w.tenant == bindparam("of_tenant"), _w.family == bindparam("of_family"))
    .order_by(_w.created_at, _w.session_id)
)
