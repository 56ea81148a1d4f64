"""Who may call what: roles of the verified caller, and for agents, which session."""

from __future__ import annotations

from typing import Final

from services.kernel.access import caller
from services.kernel.errors import Denied
from services.kernel.principal import Principal
from services.kernel.request import current_principal
from services.planning.application.acting import may_act_for

READERS: Final = ("viewer", "reviewer", "agent")
AUTHORS: Final = ("reviewer", "agent")
PEOPLE: Final = ("reviewer",)
"""Locks, order, branches and what is taken over from one another are a person's."""


def caller_for(roles: tuple[str, ...], *session_ids: str) -> Principal:
    """The verified caller, which has one of the roles (admin has them all); an agent only for the session of its own
    token (NOT_YOURS)."""
    principal = caller(*roles)
    for one in session_ids:
        may_act_for(principal, one)
    return principal


def service() -> Principal:
    """Another service, or an administrator."""
    principal = current_principal()
    if not principal.has("admin") and not (principal.kind == "service" and principal.has("reviewer")):
        raise Denied("ROLE_REQUIRED", "this is for services only", role="service")
    return principal
