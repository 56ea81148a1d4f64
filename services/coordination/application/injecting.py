"""What a session is told at the start of a turn, and was told (A5, C.6): composed once a turn, stored with its digest,
and the same bytes for whoever asks again. Failing is the caller's affair: the turn goes on without.

Only what is composed for the turn under way is stored, so that there are as many rows as the session has had turns,
whatever turns are named by whom."""

from __future__ import annotations

import re
from typing import Final, assert_never

from services.coordination.application.acting import is_agent
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
from services.kernel.errors import Invalid
from services.kernel.principal import Principal

_TURN: Final = re.compile(r"[A-Za-z0-9_.:-]{1,128}")


class Injecting:
    """The use cases."""

    def __init__(self, injections: Injections, conversations: Conversations, clock: Clock) -> None:
        self._injections = injections
        self._conversations = conversations
        self._clock = clock

    async def compose(self, caller: Principal, session_id: str, turn_id: str) -> Injection | None:
        """What is injected into the turn (empty: the one under way). None: the session neither coordinates nor works
        for anybody, or thread mode is off. NO_LIVE_TURN: none is under way, or an agent names another one; people and
        runners get the text for any turn, but it is stored for the one under way alone. STREAMING_UNAVAILABLE."""
        if turn_id:
            stored = await self._injections.find(caller.tenant, session_id, _turn(turn_id))
            if stored is not None:
                return stored
        view = await self._injections.view(caller.tenant, session_id)
        if view is None and turn_id:
            return None  # most sessions: nobody is asked for them
        live = await self._conversations.live_turn(session_id)
        under_way = live is not None and turn_id in ("", live.turn_id)
        if not under_way and (not turn_id or is_agent(caller)):
            raise errors.turn_not_live(turn_id)
        if view is None:
            return None
        made = self._made(session_id, turn_id if live is None else turn_id or live.turn_id, view)
        return await self._injections.keep(caller.tenant, made) if under_way else made

    async def stored(self, caller: Principal, session_id: str, turn_id: str) -> Injection:
        """What was injected into the turn (empty: the newest). INJECTION_NOT_FOUND."""
        stored = await self._injections.find(caller.tenant, session_id, _turn(turn_id) if turn_id else "")
        if stored is None:
            raise errors.injection_not_found(session_id, turn_id)
        return stored

    def _made(self, session_id: str, turn_id: str, view: CoordinatorView | WorkerView) -> Injection:
        role: Role
        match view:
            case CoordinatorView():
                role, text = "coordinator", for_coordinator(view)
            case WorkerView():
                role, text = "worker", for_worker(view)
            case unknown:
                assert_never(unknown)
        return Injection(session_id, turn_id, role, text, digest(text), self._clock.now())


def _turn(text: str) -> str:
    if _TURN.fullmatch(text) is None:
        raise Invalid("INVALID_ARGUMENT", "turn_id must be 1..128 characters of A-Z a-z 0-9 _ . : -", field="turn_id")
    return text
