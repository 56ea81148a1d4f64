"""Statements of gates, the ledger and new messages, each inside the session's lock, which is their writers' lock."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import BindParameter, Text, any_, bindparam, func, insert, literal, select, update
from sqlalchemy.dialects.postgresql import ARRAY

from services.kernel.postgres import Row, Tx, compiled
from services.streaming.adapters.turn_tables import GATES, LEDGER, MESSAGES
from services.streaming.domain.gates import Gate, GateKind, GateState

_g, _l, _m = GATES.c, LEDGER.c, MESSAGES.c
_GATE_FIELDS = (
    "id",
    "turn_id",
    "request_id",
    "kind",
    "proposal",
    "state",
    "answer",
    "closed_by",
    "created_at",
    "closed_at",
    "expires_at",
)
_GATES_OF = (_g.tenant == bindparam("of_tenant")) & (_g.session_id == bindparam("of_id"))
_SHOWN = [_g[name] for name in _GATE_FIELDS]
_KEY: dict[str, BindParameter[Any]] = {"tenant": bindparam("of_tenant"), "session_id": bindparam("of_id")}

_ADD = compiled(insert(GATES).values({**_KEY, **{name: bindparam(name) for name in _GATE_FIELDS}}))
_OPEN = compiled(select(*_SHOWN).where(_GATES_OF, _g.state == "open").order_by(_g.id))
_ONE = compiled(select(*_SHOWN).where(_GATES_OF, _g.id == bindparam("gate_id")))
_ASKED = compiled(select(*_SHOWN).where(_GATES_OF, _g.request_id == bindparam("asked")))
_CLOSE = compiled(
    update(GATES)
    .where(_GATES_OF, _g.id == bindparam("gate_id"), _g.state == "open")
    .values(
        state=bindparam("to_state"),
        answer=bindparam("said", type_=_g.answer.type),
        closed_by=bindparam("closer"),
        closed_at=bindparam("at"),
    )
)
_PAGE = compiled(
    select(*_SHOWN)
    .where(
        _GATES_OF,
        _g.state == any_(bindparam("states", type_=ARRAY(Text))),
        (bindparam("before", type_=Text) == "") | (_g.id < bindparam("before", type_=Text)),
    )
    .order_by(_g.id.desc())
    .limit(bindparam("size"))
)
_NEXT_ENTRY = select(func.coalesce(func.max(_l.sequence), 0) + 1).where(
    _l.tenant == bindparam("of_tenant"), _l.session_id == bindparam("of_id")
)
_ACCEPT = compiled(
    insert(LEDGER)
    .values(
        {
            **_KEY,
            "sequence": _NEXT_ENTRY.scalar_subquery(),
            "gate_id": bindparam("gate_id"),
            "joins": bindparam("joins"),
            "accepted_by": bindparam("accepted_by"),
            "created_at": bindparam("created_at"),
        }
    )
    .returning(_l.sequence)
)
_ENTRIES = compiled(
    select(_l.sequence, _l.gate_id, _l.joins, _l.accepted_by, _l.created_at)
    .where(
        _l.tenant == bindparam("of_tenant"), _l.session_id == bindparam("of_id"), _l.sequence > bindparam("after_entry")
    )
    .order_by(_l.sequence)
    .limit(bindparam("size"))
)
_NEWEST = compiled(
    select(_l.sequence, _l.gate_id, _l.joins, _l.accepted_by, _l.created_at)
    .where(_l.tenant == bindparam("of_tenant"), _l.session_id == bindparam("of_id"))
    .order_by(_l.sequence.desc())
    .limit(literal(1))
)
_NEXT_MESSAGE = select(func.coalesce(func.max(_m.sequence), 0) + 1).where(
    _m.tenant == bindparam("of_tenant"), _m.session_id == bindparam("of_id")
)
_SPEAK = compiled(
    insert(MESSAGES).values(
        {
            **_KEY,
            "sequence": _NEXT_MESSAGE.scalar_subquery(),
            **{name: bindparam(name) for name in ("turn_id", "role", "text", "partial", "created_at")},
        }
    )
)


async def add_gate(tx: Tx, of: dict[str, str], gate: Gate) -> None:
    """A new gate."""
    await tx.execute(_ADD, **of, **{name: getattr(gate, name) for name in _GATE_FIELDS})


async def open_gates(tx: Tx, of: dict[str, str]) -> list[Gate]:
    """Those that wait, oldest first."""
    return [_gate(row) for row in await tx.fetch(_OPEN, **of)]


async def gate(tx: Tx, of: dict[str, str], gate_id: str) -> Gate | None:
    """By id."""
    row = await tx.fetchrow(_ONE, **of, gate_id=gate_id)
    return None if row is None else _gate(row)


async def gate_asked(tx: Tx, of: dict[str, str], request_id: str) -> Gate | None:
    """By the agent's own id."""
    row = await tx.fetchrow(_ASKED, **of, asked=request_id)
    return None if row is None else _gate(row)


async def close_gate(
    tx: Tx, of: dict[str, str], gate_id: str, state: GateState, answer: dict[str, Any] | None, by: str, now: datetime
) -> bool:
    """Compare and set."""
    return await tx.execute(_CLOSE, **of, gate_id=gate_id, to_state=state, said=answer, closer=by, at=now) == 1


async def page_of_gates(
    tx: Tx, of: dict[str, str], state: GateState | None, before: str, size: int
) -> tuple[list[Gate], bool]:
    """Newest first, and whether there are more."""
    states = [state] if state else list(GateState)
    rows = await tx.fetch(_PAGE, **of, states=states, before=before, size=size + 1)
    return [_gate(row) for row in rows[:size]], len(rows) > size


async def accept_joins(tx: Tx, of: dict[str, str], gate_id: str, joins: list[Any], by: str, now: datetime) -> int:
    """The whole set, as the ledger's next entry. The caller holds the session's row lock."""
    sequence: int = await tx.fetchval(_ACCEPT, **of, gate_id=gate_id, joins=joins, accepted_by=by, created_at=now)
    return sequence


async def entries(tx: Tx, of: dict[str, str], after: int, size: int) -> tuple[list[Row], Row | None, bool]:
    """A page of the ledger, its newest entry, and whether there are more."""
    rows = await tx.fetch(_ENTRIES, **of, after_entry=after, size=size + 1)
    return rows[:size], await tx.fetchrow(_NEWEST, **of), len(rows) > size


async def speak(tx: Tx, of: dict[str, str], turn_id: str, role: str, text: str, partial: bool, now: datetime) -> None:
    """The session's next message of its own; those that it shares are counted apart."""
    await tx.execute(_SPEAK, **of, turn_id=turn_id, role=role, text=text, partial=partial, created_at=now)


def _gate(row: Row) -> Gate:
    fields = dict(row)
    return Gate(**{**fields, "kind": GateKind(fields["kind"]), "state": GateState(fields["state"])})
