"""Who may call what: roles of the verified caller, and for agents, which session."""

from __future__ import annotations

from typing import Final

from services.coordination.application.acting import may_act_for
from services.kernel.access import caller
from services.kernel.principal import Principal

READERS: Final = ("viewer", "reviewer", "agent")
AUTHORS: Final = ("reviewer", "agent")
PEOPLE: Final = ("reviewer",)
"""Thread mode, its budgets and registrations are a person's: an agent does not raise its own limits."""
RUNNERS: Final = ("runner",)


def caller_for(roles: tuple[str, ...], session_id: str) -> Principal:
    """As `caller`; an agent only for the session of its own credential (NOT_YOURS)."""
    principal = caller(*roles)
    may_act_for(principal, session_id)
    return principal
