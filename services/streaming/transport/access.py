"""Who may call what: roles of the verified caller (the same split as everywhere: readers, authors, runners), and whose
session an agent may speak for."""

from __future__ import annotations

from typing import Final

from services.kernel.access import caller
from services.kernel.principal import Principal
from services.streaming.domain.errors import not_yours
from services.streaming.transport import names

READERS: Final = ("viewer", "reviewer", "agent")
AUTHORS: Final = ("reviewer", "agent")
PEOPLE: Final = ("reviewer",)
"""An agent may not answer its own gates, nor delete sessions."""
RUNNERS: Final = ("runner",)


def acting(roles: tuple[str, ...], name: str, field: str = "name") -> tuple[Principal, str]:
    """The caller and the id in `sessions/{id}`. An agent acts for the session of its own token alone."""
    principal = caller(*roles)
    session_id = names.session_id(name, field)
    check_own(principal, session_id)
    return principal, session_id


def check_own(principal: Principal, session_id: str | None) -> None:
    """Denied NOT_YOURS for an agent that is another session's; None: what is no session's at all."""
    if principal.kind == "agent" and principal.subject != session_id:
        raise not_yours(principal.subject)
