"""Opening, reading and listing sessions."""

from __future__ import annotations

from dataclasses import replace

from services.kernel.bus import Bus
from services.kernel.clock import Clock
from services.kernel.errors import Invalid, NotFound, Refusal
from services.kernel.ids import NewId, is_id
from services.kernel.principal import Principal
from services.kernel.telemetry import get_logger
from services.streaming.application.appenders import Appenders
from services.streaming.application.ports import Page, SessionKey, SessionStore
from services.streaming.application.workspaces import WorkspaceDuty
from services.streaming.domain.session import Session, new_session

SWEEP_SUBJECT = "wake.streaming.sweep"
_log = get_logger("streaming.sessions")


class Sessions:
    """The use cases; every one is inside the caller's tenant."""

    def __init__(
        self,
        store: SessionStore,
        appenders: Appenders,
        bus: Bus,
        clock: Clock,
        new_id: NewId,
        workspaces: WorkspaceDuty | None = None,
    ) -> None:
        """`workspaces` is None where planning is not asked."""
        self._store = store
        self._appenders = appenders
        self._bus = bus
        self._clock = clock
        self._new_id = new_id
        self._workspaces = workspaces

    async def create(
        self,
        caller: Principal,
        *,
        adapter: str,
        provider: str,
        model: str,
        thinking: str,
        title: str,
        session_id: str,
        coordinator: str,
        request_id: str,
        digest: bytes,
    ) -> Session:
        """Opens a session and its stream. The same request_id, or the same `session_id` with the same adapter, answers
        the same session; an empty one takes a new id."""
        if session_id and not is_id("ses", session_id):
            raise Invalid("INVALID_ARGUMENT", "session_id must be ses_ and a UUIDv7 in hex", field="session_id")
        asked = new_session(
            caller.tenant,
            session_id or self._new_id("ses"),
            self._clock.now(),
            adapter=adapter,
            provider=provider,
            model=model,
            thinking=thinking,
            title=title,
        )
        session = await self._store.create(replace(asked, coordinator=coordinator), caller, request_id, digest)
        key = SessionKey(session.tenant, session.id)
        if self._workspaces is not None:
            await self._workspaces.ensure(key)
        try:
            await self._appenders.flush(key)
        except Refusal as refusal:
            # The session stands; its stream is opened by the sweep when the log answers again.
            _log.warning("session.stream_waits", session=session.id, reason=refusal.reason)
            await self._bus.ping(SWEEP_SUBJECT)
            return session
        return await self._store.get(key)

    async def get(self, caller: Principal, session_id: str) -> Session:
        """The session, or NotFound."""
        return await self._store.get(SessionKey(caller.tenant, session_id))

    async def page(self, caller: Principal, after: tuple[str, str] | None, size: int, *, top_level: bool) -> Page:
        """A page, newest first. An agent has one session, its own."""
        if caller.kind != "agent":
            return await self._store.page(caller.tenant, after, size, top_level=top_level)
        try:
            return Page([await self._store.get(SessionKey(caller.tenant, caller.subject))], False)
        except NotFound:
            return Page([], False)
