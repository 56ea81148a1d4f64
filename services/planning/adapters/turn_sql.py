"""Statements about turns, what they kept, and what going on from one begins with."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import (
    ARRAY,
    LargeBinary,
    Text,
    bindparam,
    case,
    cast,
    delete,
    func,
    literal,
    literal_column,
    select,
    true,
    union_all,
    update,
)
from sqlalchemy.dialects.postgresql import JSONB, aggregate_order_by, insert

from services.kernel.postgres import compiled
from services.planning.adapters.tables import (
    BLOBS,
    DOCUMENTS,
    ENDED_TURNS,
    FAMILIES,
    STEPS,
    STRETCHES,
    TURNS,
    WORKSPACES,
)
from services.planning.adapters.workspace_sql import MINE, SHOWN

TURN_FIELDS: Final = (
    "line",
    "number",
    "turn_id",
    "running",
    "outcome",
    "kept",
    "leaves",
    "done_leaves",
    "begun_at",
    "ended_at",
)
_w, _t, _r, _b, _s, _d = WORKSPACES.c, TURNS.c, STRETCHES.c, BLOBS.c, STEPS.c, DOCUMENTS.c
TURN_SHOWN: Final = [_t[name] for name in TURN_FIELDS]

TURN: Final = compiled(
    select(*TURN_SHOWN).where(
        _t.tenant == bindparam("of_tenant"), _t.line == bindparam("of_line"), _t.number == bindparam("of_number")
    )
)
TURN_OF_ID: Final = compiled(
    select(*TURN_SHOWN).where(_t.tenant == bindparam("of_tenant"), _t.turn_id == bindparam("of_turn"))
)
_KEPT: Final = ("objective", "plan", "documents")
INSERT_TURN: Final = compiled(
    insert(TURNS).values(
        {
            "tenant": bindparam("tenant"),
            "family": bindparam("family"),
            "running": true(),
            "kept": true(),
            **{
                name: bindparam(name)
                for name in ("line", "number", "turn_id", "leaves", "done_leaves", "begun_at", *_KEPT)
            },
        }
    )
)
END_TURN: Final = compiled(
    update(TURNS)
    .where(
        _t.tenant == bindparam("of_tenant"),
        _t.line == bindparam("of_line"),
        _t.number == bindparam("of_number"),
        _t.running | (_t.outcome == "superseded"),
    )
    .values(running=False, outcome=bindparam("how"), ended_at=func.coalesce(_t.ended_at, bindparam("at")))
)
IS_ENDED: Final = compiled(
    select(ENDED_TURNS.c.turn_id).where(
        ENDED_TURNS.c.tenant == bindparam("of_tenant"),
        ENDED_TURNS.c.session_id == bindparam("of_id"),
        ENDED_TURNS.c.turn_id == bindparam("of_turn"),
    )
)
NOTE_ENDED: Final = compiled(
    insert(ENDED_TURNS)
    .values(
        tenant=bindparam("of_tenant"),
        session_id=bindparam("of_id"),
        turn_id=bindparam("of_turn"),
        ended_at=bindparam("at"),
    )
    .on_conflict_do_nothing()
)

# Blobs are inserted in the order of their digests, so that two sessions of a family do not wait for one another.
_GIVEN = (
    func.unnest(bindparam("digests", type_=ARRAY(Text)), bindparam("datas", type_=ARRAY(LargeBinary)))
    .table_valued("sha256", "data")
    .render_derived("given")
)
KEEP: Final = compiled(
    insert(BLOBS)
    .from_select(
        ["tenant", "family", "sha256", "data"],
        select(
            bindparam("of_tenant", type_=Text), bindparam("of_family", type_=Text), _GIVEN.c.sha256, _GIVEN.c.data
        ).order_by(_GIVEN.c.sha256),
    )
    .on_conflict_do_nothing()
)
_THERE = (
    select(_b.sha256)
    .where(_b.tenant == _d.tenant, _b.family == bindparam("of_family"), _b.sha256 == _d.sha256)
    .correlate(DOCUMENTS)
    .exists()
)
KEEP_CONTENTS: Final = compiled(
    insert(BLOBS)
    .from_select(
        ["tenant", "family", "sha256", "data"],
        select(
            _d.tenant,
            bindparam("of_family", type_=Text),
            _d.sha256,
            func.convert_to(_d.content, "UTF8"),
        )
        .where(
            _d.tenant == bindparam("of_tenant"),
            _d.session_id == bindparam("of_id"),
            _d.content.is_not(None),
            ~_THERE,
        )
        .order_by(_d.sha256),
    )
    .on_conflict_do_nothing()
)
BLOBS_OF: Final = compiled(
    select(_b.sha256, _b.data).where(
        _b.tenant == bindparam("of_tenant"),
        _b.family == bindparam("of_family"),
        _b.sha256 == func.any(bindparam("digests", type_=ARRAY(Text))),
    )
)


def live_steps() -> Any:
    """The plan as it is now: a JSON array of [id, origin_id, depth, text, done]."""
    row = func.jsonb_build_array(_s.id, _s.origin_id, _s.depth, _s.text, _s.done)
    return (
        select(func.coalesce(func.jsonb_agg(aggregate_order_by(row, _s.position)), literal_column("'[]'::jsonb")))
        .where(_s.tenant == _w.tenant, _s.session_id == _w.session_id)
        .correlate(WORKSPACES)
        .scalar_subquery()
    )


def live_documents(*, contents: bool) -> Any:
    """The documents as they are now: a JSON array of [key, sha256, locked, content]; content null where it is not
    asked for."""
    own = BLOBS.alias("own")
    held = func.coalesce(_d.content, func.convert_from(own.c.data, literal_column("'UTF8'")))
    row = func.jsonb_build_array(_d.key, _d.sha256, _d.locked, held if contents else literal_column("NULL"))
    of = DOCUMENTS
    if contents:
        same = (own.c.tenant == _d.tenant) & (own.c.family == _w.family) & (own.c.sha256 == _d.sha256)
        of = DOCUMENTS.outerjoin(own, same & _d.content.is_(None))  # type: ignore[assignment]
    return (
        select(func.coalesce(func.jsonb_agg(aggregate_order_by(row, _d.position)), literal_column("'[]'::jsonb")))
        .select_from(of)
        .where(_d.tenant == _w.tenant, _d.session_id == _w.session_id)
        .correlate(WORKSPACES)
        .scalar_subquery()
    )


def _this() -> Any:
    return (
        select(_t.number, _t.turn_id, _t.running, _t.kept)
        .select_from(STRETCHES.join(TURNS, (_t.tenant == _r.tenant) & (_t.line == _r.line)))
        .where(
            _r.tenant == _w.tenant,
            _r.session_id == _w.session_id,
            _t.number == bindparam("of_turn"),
            _t.number > _r.low,
            _t.number <= _r.high,
        )
        .correlate(WORKSPACES)
        .lateral("this")
    )


def _following() -> Any:
    """The successor in order, of whatever stretch: one look into the index of each."""
    first = (
        select(_t.number, _t.running, _t.kept, _t.objective, _t.plan, _t.documents)
        .where(
            _t.tenant == _r.tenant,
            _t.line == _r.line,
            _t.number > func.greatest(_r.low, bindparam("of_turn")),
            _t.number <= _r.high,
        )
        .order_by(_t.number)
        .limit(1)
        .correlate(STRETCHES)
        .lateral("first")
    )
    return (
        select(first)
        .select_from(STRETCHES.join(first, true()))
        .where(_r.tenant == _w.tenant, _r.session_id == _w.session_id)
        .order_by(first.c.number)
        .limit(1)
        .correlate(WORKSPACES)
        .lateral("following")
    )


def _restored(*, contents: bool) -> Any:
    this, following = _this(), _following()
    shelf = BLOBS.alias("shelf")
    last = following.c.number.is_(None)
    return (
        select(
            *SHOWN,
            *(this.c[name].label(f"this_{name}") for name in ("number", "turn_id", "running", "kept")),
            *(
                following.c[name].label(f"next_{name}")
                for name in ("number", "running", "kept", "objective", "plan", "documents")
            ),
            shelf.c.data.label("shelf"),
            case((last, live_steps())).label("live_steps"),
            case((last, live_documents(contents=contents))).label("live_documents"),
        )
        .select_from(
            WORKSPACES.outerjoin(this, true())
            .outerjoin(following, true())
            .outerjoin(
                shelf,
                (shelf.c.tenant == _w.tenant)
                & (shelf.c.family == _w.family)
                & (shelf.c.sha256 == following.c.documents),
            )
        )
        .where(MINE)
    )


RESTORED: Final = compiled(_restored(contents=True))
"""The first of the two queries of GetRestoreState; the second one is BLOBS_OF."""
RESTORED_WITHOUT_CONTENTS: Final = compiled(_restored(contents=False))
"""As RESTORED, for a branch, which begins with contents as they are kept."""

# What nobody stands on any more, once a workspace is gone: turns of lines that no session has, and blobs of none.
_STOOD_ON = (
    select(_r.line)
    .where(_r.tenant == _t.tenant, _r.line == _t.line, _t.number > _r.low, _t.number <= _r.high)
    .correlate(TURNS)
    .exists()
)
SWEEP_TURNS: Final = compiled(
    delete(TURNS).where(_t.tenant == bindparam("of_tenant"), _t.family == bindparam("of_family"), ~_STOOD_ON)
)
_OF_FAMILY = (_t.tenant == bindparam("of_tenant")) & (_t.family == bindparam("of_family"))
# First of all the lists of documents, alone: the other blobs are no JSON arrays.
_SHELVES = (
    select(_b.data)
    .where(
        _b.tenant == bindparam("of_tenant"),
        _b.family == bindparam("of_family"),
        _b.sha256.in_(select(_t.documents).where(_OF_FAMILY)),
    )
    .cte("shelves")
    .prefix_with("MATERIALIZED")
)
_ENTRIES = func.jsonb_array_elements(cast(func.convert_from(_SHELVES.c.data, "UTF8"), JSONB)).table_valued(
    "value", name="entries"
)
_USED = union_all(
    *(select(_t[name].label("sha256")).where(_OF_FAMILY) for name in _KEPT),
    select(cast(_ENTRIES.c.value, JSONB)["sha256"].astext).select_from(_SHELVES).join(_ENTRIES, true()),
    select(_d.sha256)
    .select_from(DOCUMENTS.join(WORKSPACES, (_w.tenant == _d.tenant) & (_w.session_id == _d.session_id)))
    .where(_w.tenant == bindparam("of_tenant"), _w.family == bindparam("of_family"), _d.content.is_(None)),
).subquery("used")
SWEEP_BLOBS: Final = compiled(
    delete(BLOBS).where(
        _b.tenant == bindparam("of_tenant"),
        _b.family == bindparam("of_family"),
        ~select(literal(1)).where(_USED.c.sha256 == _b.sha256).correlate(BLOBS).exists(),
    )
)
_NO_SESSION = (
    ~select(_w.session_id)
    .where(_w.tenant == FAMILIES.c.tenant, _w.family == FAMILIES.c.id)
    .correlate(FAMILIES)
    .exists()
)
DELETE_FAMILY: Final = compiled(
    delete(FAMILIES).where(
        FAMILIES.c.tenant == bindparam("of_tenant"), FAMILIES.c.id == bindparam("of_family"), _NO_SESSION
    )
)
