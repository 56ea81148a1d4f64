"""Sessions and their turns in memory, as far as coordination asks for them: it stands for the streaming service behind
a real gRPC server. `down` makes every call UNAVAILABLE."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from services.kernel.clock import SystemClock
from services.kernel.errors import AlreadyExists, NotAllowed, NotFound, Unavailable
from services.kernel.grpc_server import GrpcServer
from services.kernel.ids import new_id
from services.kernel.principal import Authenticator, Principal
from services.kernel.request import current_principal
from treadle.streaming.v1 import session_service_pb2 as pb
from treadle.streaming.v1.session_service_pb2_grpc import (
    SessionServiceServicer,
    add_SessionServiceServicer_to_server,
)


@dataclass
class FakeTurn:
    """A turn; `live` while it is under way and nobody has asked to stop it."""

    id: str
    state: str = "running"
    live: bool = True
    outcome: str = ""
    code: str = ""
    said: bool = False
    tokens: int = 0
    text: str = ""
    settled_at: datetime = field(default_factory=lambda: datetime.now(UTC))


@dataclass
class FakeStreamingSession:
    """A session of a tenant, with its newest turn last. `attended`: a runner holds it; `prompts` and `aborts` are what
    others asked of it."""

    tenant: str
    id: str
    adapter: str = "scripted"
    provider: str = ""
    model: str = ""
    thinking: str = "medium"
    turns: list[FakeTurn] = field(default_factory=list)
    attended: bool = False
    prompts: list[tuple[str, str]] = field(default_factory=list)
    aborts: int = 0

    def begin(self, turn_id: str | None = None) -> FakeTurn:
        """A turn that is under way."""
        turn = FakeTurn(turn_id or new_id("trn"))
        self.turns.append(turn)
        return turn

    def at(self, turn_id: str) -> str:
        """The turn of that id is the one under way, and those before it have ended; answers the session's id."""
        if self.turns and self.turns[-1].live:
            self.settle()
        self.begin(turn_id)
        return self.id

    def settle(self, outcome: str = "ok", state: str = "idle", code: str = "") -> None:
        """The newest turn ends."""
        turn = self.turns[-1]
        turn.live, turn.state, turn.outcome, turn.code = False, state, outcome, code
        turn.settled_at = datetime.now(UTC)

    def say(self, text: str, outcome: str = "ok") -> FakeTurn:
        """A whole turn in which its agent says this."""
        turn = self.begin()
        turn.text = text
        self.settle(outcome)
        return turn


_STATES = {
    "idle": pb.Session.STATE_IDLE,
    "running": pb.Session.STATE_RUNNING,
    "waiting": pb.Session.STATE_WAITING,
    "failed": pb.Session.STATE_FAILED,
}


class FakeSessions(SessionServiceServicer):
    """`sessions` by (tenant, id); `askers` are the principals that called, in order."""

    def __init__(self) -> None:
        self.sessions: dict[tuple[str, str], FakeStreamingSession] = {}
        self.askers: list[Principal] = []
        self.down = False

    def open(self, tenant: str = "default", **fields: Any) -> FakeStreamingSession:
        """A session with a turn under way."""
        session = FakeStreamingSession(tenant, fields.pop("id", None) or new_id("ses"), **fields)
        session.begin()
        self.sessions[tenant, session.id] = session
        return session

    def of_caller(self, name: str) -> FakeStreamingSession:
        """The caller's session. NotFound, or Unavailable where the service is down."""
        caller = current_principal()
        self.askers.append(caller)
        if self.down:
            raise Unavailable("LOG_UNAVAILABLE", "the test has taken streaming away")
        session = self.sessions.get((caller.tenant, name.removeprefix("sessions/")))
        if session is None:
            raise NotFound("SESSION_NOT_FOUND", "there is no such session")
        return session

    async def GetTurn(self, request: pb.GetTurnRequest, context: Any) -> pb.SessionTurn:
        """The newest, or the one that is named."""
        session = self.of_caller(request.name)
        turns = [one for one in session.turns if request.turn_id in ("", one.id)]
        if not turns:
            raise NotFound("TURN_NOT_FOUND", "there is no such turn")
        turn = turns[-1]
        return pb.SessionTurn(
            id=turn.id,
            number=session.turns.index(turn) + 1,
            state=_STATES[turn.state],
            live=turn.live,
            outcome=turn.outcome,
            code=turn.code,
            said=turn.said,
            tokens=turn.tokens,
            text=turn.text if request.with_text and turn.state in ("running", "waiting") else "",
            session=shown(session),
        )

    async def ListMessages(self, request: pb.ListMessagesRequest, context: Any) -> pb.ListMessagesResponse:
        """Of one turn, or of all, one a page."""
        session = self.of_caller(request.parent)
        messages: list[pb.Message] = []
        for turn in session.turns:
            said = turn.text and turn.state not in ("running", "waiting")
            for role, text in [("user", "a prompt"), *([("assistant", turn.text)] if said else [])]:
                partial = role == "assistant" and turn.outcome not in ("", "ok")
                message = pb.Message(turn_id=turn.id, role=role, text=text, partial=partial, sequence=len(messages) + 1)
                message.create_time.FromDatetime(turn.settled_at)
                messages.append(message)
        messages = [one for one in messages if request.turn_id in ("", one.turn_id)]
        page = int(request.page_token or 0)
        more = page + 1 < len(messages)
        return pb.ListMessagesResponse(
            messages=messages[page : page + 1], next_page_token=str(page + 1) if more else ""
        )

    async def PromptSession(self, request: pb.PromptSessionRequest, context: Any) -> pb.PromptSessionResponse:
        """A new turn; once a request_id."""
        session = self.of_caller(request.name)
        for request_id, text in session.prompts:
            if request_id == request.request_id and request_id:
                if text != request.text:
                    raise AlreadyExists("REQUEST_ID_REUSED", "used with another body")
                return pb.PromptSessionResponse(turn_id=session.turns[-1].id)
        if session.adapter == "external":
            raise NotAllowed("EXTERNAL_SESSION", "an outside agent drives this session")
        if session.turns and session.turns[-1].state in ("running", "waiting"):
            raise NotAllowed("TURN_RUNNING", "a turn is under way: steer or abort it")
        session.prompts.append((request.request_id, request.text))
        return pb.PromptSessionResponse(turn_id=session.begin().id, session=shown(session))

    async def AbortSession(self, request: pb.AbortSessionRequest, context: Any) -> pb.Session:
        """The turn under way has ended when this is answered."""
        session = self.of_caller(request.name)
        session.aborts += 1
        if not session.turns or session.turns[-1].state not in ("running", "waiting"):
            raise NotAllowed("TURN_NOT_RUNNING", "no turn is under way")
        session.settle("aborted")
        return shown(session)


def fake_sessions() -> FakeSessions:
    """One without sessions. The calls that coordination does not make answer UNIMPLEMENTED."""
    return FakeSessions()  # type: ignore[abstract]


def shown(session: FakeStreamingSession) -> pb.Session:
    """A session as its resource."""
    newest = session.turns[-1] if session.turns else None
    return pb.Session(
        name=f"sessions/{session.id}",
        id=session.id,
        state=_STATES[newest.state if newest else "idle"],
        adapter=session.adapter,
        provider=session.provider,
        model=session.model,
        thinking=session.thinking,
        turn_id=newest.id if newest else "",
        turn=len(session.turns),
        agent=pb.Session.AGENT_LIVE if session.attended else pb.Session.AGENT_NONE,
    )


@asynccontextmanager
async def serving(sessions: FakeSessions, secret: str | None = None) -> AsyncIterator[str]:
    """Serves it on a free port; answers the address."""
    service = (add_SessionServiceServicer_to_server, sessions, "treadle.streaming.v1.SessionService")
    server = GrpcServer("streaming", "127.0.0.1:0", [service], Authenticator(secret, SystemClock()))
    address = await server.start()
    try:
        yield address
    finally:
        await server.stop(0)
