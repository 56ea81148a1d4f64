"""Statements about workspaces, their steps and documents."""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    ARRAY,
    Boolean,
    Integer,
    Select,
    Text,
    bindparam,
    delete,
    func,
    literal_column,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import insert

from services.kernel.postgres import compiled
from services.planning.adapters.blob_sql import data_of, text_of
from services.planning.adapters.tables import DELETED, DOCUMENTS, FAMILIES, STEPS, STRETCHES, WORKSPACES

WORKSPACE_FIELDS: Final = (
    "tenant",
    "session_id",
    "family",
    "making",
    "created_at",
    "updated_at",
    "objective",
    "objective_version",
    "objective_by",
    "objective_at",
    "objective_turn",
    "plan_version",
    "turn",
    "turn_id",
    "running",
    "parent_id",
    "fork_turn",
)
WORKSPACE_CHANGED: Final = tuple(
    name for name in WORKSPACE_FIELDS if name not in ("tenant", "session_id", "family", "created_at")
)
DOCUMENT_FIELDS: Final = ("key", "position", "size", "sha256", "locked", "version", "updated_by", "updated_at")

_w, _f, _s, _d, _t = WORKSPACES.c, FAMILIES.c, STEPS.c, DOCUMENTS.c, STRETCHES.c
SHOWN: Final = [_w[name] for name in WORKSPACE_FIELDS]
MINE: Final = (_w.tenant == bindparam("of_tenant")) & (_w.session_id == bindparam("of_id"))
_STEP_OF: Final = (_s.tenant == bindparam("of_tenant")) & (_s.session_id == bindparam("of_id"))
_DOCUMENT_OF: Final = (_d.tenant == bindparam("of_tenant")) & (_d.session_id == bindparam("of_id"))
_THE_DOCUMENT: Final = _DOCUMENT_OF & (_d.key == bindparam("of_key"))

RESERVE: Final = compiled(
    select(func.pg_advisory_xact_lock(func.hashtextextended(bindparam("name", type_=Text), literal_column("0"))))
)
LOCK: Final = compiled(select(*SHOWN).where(MINE).with_for_update())
SHARE_FAMILY: Final = compiled(
    select(_f.id).where(_f.tenant == bindparam("of_tenant"), _f.id == bindparam("of_family")).with_for_update(read=True)
)
MAKE_FAMILY: Final = compiled(
    insert(FAMILIES).values(tenant=bindparam("tenant"), id=bindparam("id")).on_conflict_do_nothing()
)
INSERT: Final = compiled(insert(WORKSPACES).values({name: bindparam(name) for name in WORKSPACE_FIELDS}))
INSERT_STRETCH: Final = compiled(
    insert(STRETCHES).values(
        {name: bindparam(name) for name in ("tenant", "session_id", "line", "low", "high", "family")}
    )
)
STRETCHES_OF: Final = compiled(
    select(_t.line, _t.low, _t.high)
    .where(_t.tenant == bindparam("of_tenant"), _t.session_id == bindparam("of_id"))
    .order_by(_t.low)
)
SAVE: Final = compiled(update(WORKSPACES).where(MINE).values({name: bindparam(name) for name in WORKSPACE_CHANGED}))
FAMILY_SIZE: Final = compiled(
    select(func.count()).where(_w.tenant == bindparam("of_tenant"), _w.family == bindparam("of_family"))
)
IS_DELETED: Final = compiled(
    select(DELETED.c.session_id).where(
        DELETED.c.tenant == bindparam("of_tenant"), DELETED.c.session_id == bindparam("of_id")
    )
)

STEPS_OF: Final = compiled(
    select(_s.id, _s.origin_id, _s.depth, _s.text, _s.done).where(_STEP_OF).order_by(_s.position)
)
DELETE_STEPS: Final = compiled(delete(STEPS).where(_STEP_OF, _s.id == func.any(bindparam("ids", type_=ARRAY(Text)))))
_STEP_COLUMNS: Final = (
    ("id", Text),
    ("origin_id", Text),
    ("position", Integer),
    ("depth", Integer),
    ("text", Text),
    ("done", Boolean),
)


def _rows() -> Select[tuple[object, ...]]:
    """The arrays of a statement as rows."""
    given = func.unnest(*(bindparam(f"{name}s", type_=ARRAY(kind)) for name, kind in _STEP_COLUMNS))
    table = given.table_valued(*(name for name, _ in _STEP_COLUMNS)).render_derived("given")
    return select(*(table.c[name] for name, _ in _STEP_COLUMNS))


_GIVEN: Final = _rows().subquery("rows")
INSERT_STEPS: Final = compiled(
    insert(STEPS).from_select(
        ["tenant", "session_id", *(name for name, _ in _STEP_COLUMNS)],
        select(
            bindparam("of_tenant", type_=Text),
            bindparam("of_id", type_=Text),
            *(_GIVEN.c[name] for name, _ in _STEP_COLUMNS),
        ),
    )
)
UPDATE_STEPS: Final = compiled(
    update(STEPS)
    .where(_STEP_OF, _s.id == _GIVEN.c.id)
    .values({name: _GIVEN.c[name] for name in ("origin_id", "position", "depth", "text", "done")})
)

DOCUMENTS_OF: Final = compiled(
    select(*(_d[name] for name in DOCUMENT_FIELDS)).where(_DOCUMENT_OF).order_by(_d.position)
)
_ITS_FAMILY = (
    select(_w.family)
    .where(_w.tenant == _d.tenant, _w.session_id == _d.session_id)
    .correlate(DOCUMENTS)
    .scalar_subquery()
)
HELD: Final = func.coalesce(_d.content, text_of(_d.tenant, _ITS_FAMILY, _d.sha256, DOCUMENTS))
"""A document's content: its own, or that of the blob of its digest."""
CONTENT: Final = compiled(select(HELD).where(_THE_DOCUMENT))
_PUT = insert(DOCUMENTS).values(
    {
        "tenant": bindparam("of_tenant"),
        "session_id": bindparam("of_id"),
        "content": bindparam("content"),
        **{name: bindparam(name) for name in DOCUMENT_FIELDS},
    }
)
PUT_DOCUMENT: Final = compiled(
    _PUT.on_conflict_do_update(
        index_elements=["tenant", "session_id", "key"],
        set_={
            name: _PUT.excluded[name] for name in ("content", "size", "sha256", "version", "updated_by", "updated_at")
        },
    )
)
DELETE_DOCUMENT: Final = compiled(delete(DOCUMENTS).where(_THE_DOCUMENT))
LOCK_DOCUMENT: Final = compiled(
    update(DOCUMENTS)
    .where(_THE_DOCUMENT)
    .values({name: bindparam(name) for name in ("locked", "version", "updated_by", "updated_at")})
)
MAKE_DOCUMENT: Final = compiled(_PUT)
_DOCUMENT_COLUMNS: Final = (("key", Text), ("position", Integer), ("sha256", Text), ("locked", Boolean))
_shelf = (
    func.unnest(*(bindparam(f"{name}s", type_=ARRAY(kind)) for name, kind in _DOCUMENT_COLUMNS))
    .table_valued(*(name for name, _ in _DOCUMENT_COLUMNS))
    .render_derived("shelf")
)
MAKE_DOCUMENTS: Final = compiled(
    insert(DOCUMENTS).from_select(
        ["tenant", "session_id", "key", "position", "sha256", "locked", "size", "version", "updated_by", "updated_at"],
        select(
            bindparam("of_tenant", type_=Text),
            bindparam("of_id", type_=Text),
            *(_shelf.c[name] for name, _ in _DOCUMENT_COLUMNS),
            # Where it is not kept, the size is missing, and refused.
            func.octet_length(
                data_of(bindparam("of_tenant", type_=Text), bindparam("of_family", type_=Text), _shelf.c.sha256, _shelf)
            ),
            literal_column("1"),
            literal_column("'user'"),
            bindparam("at", type_=_d.updated_at.type),
        ),
    )
)
"""Documents whose contents are kept: nothing is copied."""

# What is left when a workspace goes (removing.py).
TOMBSTONE: Final = compiled(
    insert(DELETED)
    .values(tenant=bindparam("of_tenant"), session_id=bindparam("of_id"), deleted_at=bindparam("at"))
    .on_conflict_do_nothing()
)
DELETE: Final = compiled(delete(WORKSPACES).where(MINE))
LOCK_FAMILY: Final = compiled(
    select(_f.id).where(_f.tenant == bindparam("of_tenant"), _f.id == bindparam("of_family")).with_for_update()
)
ORPHAN: Final = compiled(
    update(WORKSPACES)
    .where(
        _w.tenant == bindparam("of_tenant"),
        _w.family == bindparam("of_family"),
        _w.parent_id == bindparam("of_id"),
    )
    .values(parent_id="")
)
