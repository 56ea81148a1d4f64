"""Who may call what: the roles of the verified caller."""

from __future__ import annotations

from services.kernel.errors import Denied
from services.kernel.principal import Principal
from services.kernel.request import current_principal


def caller(*roles: str) -> Principal:
    """The verified caller, which has one of the roles (admin has them all). Denied ROLE_REQUIRED otherwise."""
    principal = current_principal()
    if not any(principal.has(role) for role in roles):
        needed = " or ".join(roles)
        raise Denied("ROLE_REQUIRED", f"this needs the role {needed}", role=needed)
    return principal
