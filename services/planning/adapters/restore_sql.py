"""What going on from a turn begins with: what the next turn kept, or what is now; the first of two queries (P.2)."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import bindparam, case, func, literal_column, select, true
from sqlalchemy.dialects.postgresql import aggregate_order_by

from services.kernel.postgres import compiled
from services.planning.adapters.blob_sql import data_of, text_of
from services.planning.adapters.tables import DOCUMENTS, STEPS, STRETCHES, TURNS, WORKSPACES
from services.planning.adapters.workspace_sql import MINE, SHOWN

_w, _t, _r, _s, _d = WORKSPACES.c, TURNS.c, STRETCHES.c, STEPS.c, DOCUMENTS.c


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
    held = func.coalesce(_d.content, text_of(_d.tenant, _w.family, _d.sha256, DOCUMENTS, WORKSPACES))
    row = func.jsonb_build_array(_d.key, _d.sha256, _d.locked, held if contents else literal_column("NULL"))
    return (
        select(func.coalesce(func.jsonb_agg(aggregate_order_by(row, _d.position)), literal_column("'[]'::jsonb")))
        .select_from(DOCUMENTS)
        .where(_d.tenant == _w.tenant, _d.session_id == _w.session_id)
        .correlate(WORKSPACES)
        .scalar_subquery()
    )


def _this() -> Any:
    one = (
        select(_t.number, _t.turn_id, _t.running, _t.kept)
        .where(
            _t.tenant == _r.tenant,
            _t.line == _r.line,
            _t.number == bindparam("of_turn"),
            _t.number > _r.low,
            _t.number <= _r.high,
        )
        .limit(1)  # so that it is looked up by its whole key, stretch by stretch
        .correlate(STRETCHES)
        .lateral("one")
    )
    return (
        select(one)
        .select_from(STRETCHES.join(one, true()))
        .where(_r.tenant == _w.tenant, _r.session_id == _w.session_id)
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
    last = following.c.number.is_(None)
    return (
        select(
            *SHOWN,
            *(this.c[name].label(f"this_{name}") for name in ("number", "turn_id", "running", "kept")),
            *(
                following.c[name].label(f"next_{name}")
                for name in ("number", "running", "kept", "objective", "plan", "documents")
            ),
            data_of(_w.tenant, _w.family, following.c.documents, WORKSPACES, following).label("shelf"),
            case((last, live_steps())).label("live_steps"),
            case((last, live_documents(contents=contents))).label("live_documents"),
        )
        .select_from(WORKSPACES.outerjoin(this, true()).outerjoin(following, true()))
        .where(MINE)
    )


RESTORED: Final = compiled(_restored(contents=True))
"""The first of the two queries of GetRestoreState; the second one is BLOBS_OF."""
RESTORED_WITHOUT_CONTENTS: Final = compiled(_restored(contents=False))
"""As RESTORED, for a branch, which begins with contents as they are kept."""
