"""Facts of streaming that take effect here (P.1): sessions opened and deleted, turns ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from services.kernel.clock import Clock
from services.kernel.errors import NotAllowed
from services.planning.application import turning
from services.planning.application.work import Work

_OVER: Final = ("idle", "failed")


async def hear(work: Work, clock: Clock, tenant: str, payload: Mapping[str, Any]) -> None:
    """One fact of type `session`; what is of no concern here is passed over."""
    session_id, kind = _text(payload, "session_id"), _text(payload, "kind")
    if not session_id:
        return
    match kind:
        case "created":
            try:
                await turning.ensured(work, tenant, session_id, clock.now())
            except NotAllowed:
                return  # deleted meanwhile
        case "deleted":
            await turning.delete(work, tenant, session_id, _text(payload, "actor"), clock.now())
        case "turn" if _text(payload, "to") in _OVER and _text(payload, "turn_id"):
            turn_id, outcome = _text(payload, "turn_id"), _text(payload, "outcome")
            await turning.end_turn(work, tenant, session_id, turn_id, outcome, clock.now())


def _text(payload: Mapping[str, Any], name: str) -> str:
    value = payload.get(name)
    return value if isinstance(value, str) else ""
