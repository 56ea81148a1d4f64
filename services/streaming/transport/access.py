"""Who may call what: roles of the verified caller (the same split as everywhere: readers, authors, runners)."""

from __future__ import annotations

from typing import Final

from services.kernel.errors import Denied
from services.kernel.principal import Principal
from services.kernel.request import current_principal

READERS: Final = ("viewer", "reviewer", "agent")
AUTHORS: Final = ("reviewer", "agent")
PEOPLE: Final = ("reviewer",)
"""An agent may not answer its own gates, nor delete sessions."""
RUNNERS: Final = ("runner",)


def caller(roles: tuple[str, ...]) -> Principal:
    """The verified caller, which has one of the roles (admin has them all). Denied otherwise."""
    principal = current_principal()
    if not any(principal.has(role) for role in roles):
        needed = " or ".join(roles)
        raise Denied("ROLE_REQUIRED", f"this needs the role {needed}", role=needed)
    return principal
