"""What nobody stands on any more, once a workspace is gone."""

from __future__ import annotations

from typing import Final

from sqlalchemy import bindparam, cast, delete, func, literal, select, true, union_all
from sqlalchemy.dialects.postgresql import JSONB

from services.kernel.postgres import compiled
from services.planning.adapters.tables import BLOBS, DOCUMENTS, FAMILIES, STRETCHES, TURNS, WORKSPACES
from services.planning.adapters.turn_sql import KEPT_PARTS

_w, _t, _r, _b, _d = WORKSPACES.c, TURNS.c, STRETCHES.c, BLOBS.c, DOCUMENTS.c

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
    *(select(_t[name].label("sha256")).where(_OF_FAMILY) for name in (*KEPT_PARTS, "told")),
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
