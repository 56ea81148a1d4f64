"""Who acts for which session."""

from __future__ import annotations

from dataclasses import dataclass

from services.kernel.principal import Principal
from services.planning.application.work import Work
from services.planning.domain import errors
from services.planning.domain.workspace import AGENT, USER, By


@dataclass(frozen=True, slots=True)
class Command:
    """A caller's change of a session. `turn_id`: the turn that it says it belongs to. `digest`: of the request without
    its request_id."""

    caller: Principal
    session_id: str
    request_id: str
    digest: bytes
    turn_id: str = ""

    @property
    def tenant(self) -> str:
        """What bounds it."""
        return self.caller.tenant

    @property
    def who(self) -> str:
        """The caller, as rows and facts name it."""
        return who(self.caller)

    @property
    def by(self) -> By:
        """Whether an agent or a person does it."""
        return AGENT if is_agent(self.caller) else USER

    async def remembered(self, work: Work, method: str) -> bytes | None:
        """What the same request was answered before (PUB08)."""
        return await work.remember(self.caller, f"{method} {self.session_id}", self.request_id, self.digest)


def who(caller: Principal) -> str:
    """The caller, as rows and facts name it."""
    return f"{caller.kind}:{caller.subject}"


def is_agent(caller: Principal) -> bool:
    """Whether it is bound to one session."""
    return caller.kind == "agent" or (caller.has("agent") and not caller.has("reviewer"))


def may_act_for(caller: Principal, session_id: str) -> None:
    """An agent acts for the session of its own token alone (NOT_YOURS); others for any of their tenant."""
    if is_agent(caller) and caller.subject != session_id:
        raise errors.not_yours()
