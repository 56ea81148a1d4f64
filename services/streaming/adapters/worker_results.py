"""Ends of workers, as coordination's facts tell them, onto their coordinators' streams (design/coordination.md C.4)."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import bindparam, select
from sqlalchemy.dialects.postgresql import insert

from services.kernel import frames
from services.kernel.ids import is_id
from services.kernel.inbox import Fact, subject_of
from services.kernel.postgres import Tx, compiled
from services.streaming.adapters.tables import SESSION_OUTBOX, SESSIONS

CONSUMER: Final = "streaming-worker-results"
SUBJECTS: Final = (subject_of("coordination", "worker"),)
_TEXT_MOST: Final = 300
_s, _o = SESSIONS.c, SESSION_OUTBOX.c
_TELL = compiled(
    insert(SESSION_OUTBOX)
    .from_select(
        ["tenant", "session_id", "event_id", "name", "data", "after_seq"],
        select(
            _s.tenant,
            _s.id,
            bindparam("event_id", type_=_o.event_id.type),
            bindparam("name", type_=_o.name.type),
            bindparam("data", type_=_o.data.type),
            _s.tail_seq,
        ).where(_s.tenant == bindparam("of_tenant"), _s.id == bindparam("of_id"), _s.deleted_at.is_(None)),
    )
    .on_conflict_do_nothing()
)


async def tell(tx: Tx, fact: Fact) -> None:
    """A worker's end as an event of the coordinator's session, under the fact's own id. Where there is no such session
    (any more), nobody is told. Afterwards, ping `SWEEP_SUBJECT`."""
    coordinator = fact.payload.get("coordinator_session_id")
    if fact.payload.get("kind") != "ended" or not isinstance(coordinator, str) or not is_id("ses", coordinator):
        return
    line = frames.line_of_json(_body(fact.payload))
    await tx.execute(
        _TELL, of_tenant=fact.tenant, of_id=coordinator, event_id=fact.event_id, name="worker_result", data=line
    )


def _body(payload: dict[str, Any]) -> dict[str, Any]:
    """Built from scratch (I8)."""
    texts = {"worker_id": "worker_id", "name": "name", "status": "to", "reason": "reason"}
    body: dict[str, Any] = {name: _text(payload.get(given)) for name, given in texts.items()}
    return {**body, **{name: payload.get(name) is True for name in ("has_result", "partial", "late")}}


def _text(value: object) -> str:
    return value[:_TEXT_MOST] if isinstance(value, str) else ""
