"""What a session is told at the start of a turn, and was told (A5, C.6): composed once a turn, stored with its digest,
and the same bytes for whoever asks again. Failing is the caller's affair: the turn goes on without."""

from __future__ import annotations

import re
from typing import Final

from services.coordination.application.ports import Conversations
from services.coordination.application.result_ports import Injections
from services.coordination.domain import errors
from services.coordination.domain.injection import (
    CoordinatorView,
    Injection,
    Role,
    WorkerView,
    digest,
    for_coordinator,
    for_worker,
)
from services.kernel.clock import Clock
from services.kernel.errors import Invalid, NotAllowed
from services.kernel.principal import Principal

_TURN: Final = re.compile(r"[A-Za-z0-9_.:-]{1,128}")


class Injecting:
    """The use cases."""

    def __init__(self, injections: Injections, conversations: Conversations, clock: Clock) -> None:
        self._injections = injections
        self._conversations = conversations
        self._clock = clock

    async def compose(self, caller: Principal, session_id: str, turn_id: str) -> Injection | None:
        """What is injected into the turn (empty: the one under way, else NO_LIVE_TURN). None, which is not
        stored: the session neither coordinates nor works for anybody, or thread mode is off."""
        turn_id = _turn(turn_id) if turn_id else await self._live(session_id)
        stored = await self._injections.find(caller.tenant, session_id, turn_id)
        if stored is not None:
            return stored
        match await self._injections.view(caller.tenant, session_id):
            case CoordinatorView() as view:
                made = self._made(session_id, turn_id, "coordinator", for_coordinator(view))
            case WorkerView() as view:
                made = self._made(session_id, turn_id, "worker", for_worker(view))
            case None:
                return None
        return await self._injections.keep(caller.tenant, made)

    async def stored(self, caller: Principal, session_id: str, turn_id: str) -> Injection:
        """What was injected into the turn (empty: the newest). INJECTION_NOT_FOUND."""
        stored = await self._injections.find(caller.tenant, session_id, _turn(turn_id) if turn_id else "")
        if stored is None:
            raise errors.injection_not_found(session_id, turn_id)
        return stored

    def _made(self, session_id: str, turn_id: str, role: Role, text: str) -> Injection:
        return Injection(session_id, turn_id, role, text, digest(text), self._clock.now())

    async def _live(self, session_id: str) -> str:
        live = await self._conversations.live_turn(session_id)
        if live is None:
            raise NotAllowed("NO_LIVE_TURN", "no turn of this session is under way: name one, or begin one")
        return live.turn_id


def _turn(text: str) -> str:
    if _TURN.fullmatch(text) is None:
        raise Invalid("INVALID_ARGUMENT", "turn_id must be 1..128 characters of A-Z a-z 0-9 _ . : -", field="turn_id")
    return text
