"""Who may call what: roles of the verified caller, and for agents, which session."""

from __future__ import annotations

from typing import Final

from services.coordination.application.acting import may_act_for
from services.kernel.errors import Denied
from services.kernel.principal import Principal
from services.kernel.request import current_principal

READERS: Final = ("viewer", "reviewer", "agent")
AUTHORS: Final = ("reviewer", "agent")
PEOPLE: Final = ("reviewer",)
"""Thread mode, its budgets and registrations are a person's: an agent does not raise its own limits."""
RUNNERS: Final = ("runner",)


def caller(roles: tuple[str, ...]) -> Principal:
    """The verified caller, which has one of the roles (admin has them all). Denied otherwise."""
    principal = current_principal()
    if not any(principal.has(role) for role in roles):
        needed = " or ".join(roles)
        raise Denied("ROLE_REQUIRED", f"this needs the role {needed}", role=needed)
    return principal


def caller_for(roles: tuple[str, ...], session_id: str) -> Principal:
    """As `caller`; an agent only for the session of its own credential (NOT_YOURS)."""
    principal = caller(roles)
    may_act_for(principal, session_id)
    return principal
