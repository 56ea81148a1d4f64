"""Sessions in memory as a worker's watcher sees them: prompts, turns, streams with cursors, messages, aborts.

A prompt begins a turn; the test says what its agent does. `cut()` breaks every stream. It stands for the streaming
service behind a real gRPC server.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import orjson

from services.kernel.clock import SystemClock
from services.kernel.errors import NotAllowed, NotFound, Refusal, Unavailable
from services.kernel.grpc_server import GrpcServer
from services.kernel.principal import Authenticator
from treadle.streaming.v1 import feed_service_pb2 as feeds
from treadle.streaming.v1 import session_service_pb2 as pb
from treadle.streaming.v1.feed_service_pb2_grpc import FeedServiceServicer, add_FeedServiceServicer_to_server
from treadle.streaming.v1.session_service_pb2_grpc import SessionServiceServicer, add_SessionServiceServicer_to_server

_STATES = {
    "running": pb.Session.STATE_RUNNING,
    "waiting": pb.Session.STATE_WAITING,
    "idle": pb.Session.STATE_IDLE,
    "failed": pb.Session.STATE_FAILED,
}


@dataclass
class FakeTurn:
    id: str
    state: str = "running"
    outcome: str = ""
    code: str = ""
    said: bool = False
    text: str = ""
    tokens: int = 0


@dataclass
class FakeSession:
    """What became of one session; the test moves its newest turn."""

    id: str
    created: list[pb.CreateSessionRequest] = field(default_factory=list)
    prompts: list[pb.PromptSessionRequest] = field(default_factory=list)
    turns: list[FakeTurn] = field(default_factory=list)
    frames: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    aborts: int = 0
    cursors: list[str] = field(default_factory=list)
    heeds_aborts: bool = True
    deleted: bool = False

    def begin(self) -> FakeTurn:
        turn = FakeTurn(f"trn_{len(self.turns) + 1}")
        self.turns.append(turn)
        self.frames.append(("prompt", {"text": "x"}))
        self._turned()
        return turn

    def say(self, words: str) -> None:
        self.turns[-1].said = True
        self.turns[-1].text += words
        self.frames.append(("text_delta", {"delta": words, "block": 1}))

    def wait(self, waiting: bool = True) -> None:
        self.turns[-1].state = "waiting" if waiting else "running"
        self._turned()

    def settle(self, outcome: str = "ok") -> None:
        self.turns[-1].state, self.turns[-1].outcome = "idle", outcome
        self._turned()

    def fail(self, code: str) -> None:
        self.turns[-1].state, self.turns[-1].code = "failed", code
        self._turned()

    def _turned(self) -> None:
        turn = self.turns[-1]
        body = {"state": turn.state, "turn_id": turn.id, "outcome": turn.outcome, "code": turn.code}
        self.frames.append(("turn", body))


class FakeSessions(SessionServiceServicer, FeedServiceServicer):
    """`sessions` by id. `refuse` maps a call's name to what it raises; `on_prompt` acts on a new turn."""

    def __init__(self) -> None:
        self.sessions: dict[str, FakeSession] = {}
        self.refuse: dict[str, Refusal] = {}
        self.authorizations: set[str] = set()
        self.asked = Counter[str]()
        self.on_prompt: Callable[[FakeSession], None] | None = None
        self._cut = asyncio.Event()
        self._answers: dict[str, str] = {}

    def of(self, number: int = 0) -> FakeSession:
        return self.sessions.setdefault(f"ses_{number}", FakeSession(f"ses_{number}"))

    async def until(self, condition: Callable[[], object], seconds: float = 60.0) -> None:
        async with asyncio.timeout(seconds):
            while not condition():
                await asyncio.sleep(0.01)

    def cut(self) -> None:
        """Every stream breaks."""
        self._cut.set()
        self._cut = asyncio.Event()

    async def CreateSession(self, request: pb.CreateSessionRequest, context: Any) -> pb.Session:
        self._asked("create", context)
        session = self.sessions.setdefault(request.session_id, FakeSession(request.session_id))
        self._there(session)
        session.created.append(request)
        return pb.Session(name=f"sessions/{session.id}", id=session.id)

    async def PromptSession(self, request: pb.PromptSessionRequest, context: Any) -> pb.PromptSessionResponse:
        self._asked("prompt", context)
        session = self._session(request.name)
        if request.request_id in self._answers:
            return pb.PromptSessionResponse(turn_id=self._answers[request.request_id])
        if session.turns and session.turns[-1].state in ("running", "waiting"):
            raise NotAllowed("TURN_RUNNING", "a turn is under way")
        session.prompts.append(request)
        turn = session.begin()
        self._answers[request.request_id] = turn.id
        if self.on_prompt is not None:
            self.on_prompt(session)
        return pb.PromptSessionResponse(turn_id=turn.id)

    async def GetTurn(self, request: pb.GetTurnRequest, context: Any) -> pb.SessionTurn:
        self._asked("turn", context)
        session = self._session(request.name)
        found = [turn for turn in session.turns if request.turn_id in ("", turn.id)]
        if not found:
            raise NotFound("TURN_NOT_FOUND", "there is no such turn")
        turn = found[-1]
        return pb.SessionTurn(
            id=turn.id,
            state=_STATES[turn.state],
            outcome=turn.outcome,
            code=turn.code,
            said=turn.said,
            tokens=turn.tokens,
        )

    async def ListMessages(self, request: pb.ListMessagesRequest, context: Any) -> pb.ListMessagesResponse:
        self._asked("messages", context)
        session = self._session(request.parent)
        turn = next(turn for turn in session.turns if turn.id == request.turn_id)
        messages = [pb.Message(role="user", text="x"), pb.Message(role="assistant", text=turn.text)]
        page = int(request.page_token or 0)
        return pb.ListMessagesResponse(messages=messages[page : page + 1], next_page_token="1" if page == 0 else "")

    async def AbortSession(self, request: pb.AbortSessionRequest, context: Any) -> pb.Session:
        self._asked("abort", context)
        session = self._session(request.name)
        session.aborts += 1
        if not session.turns or session.turns[-1].state not in ("running", "waiting"):
            raise NotAllowed("TURN_NOT_RUNNING", "no turn is under way")
        if session.heeds_aborts:
            session.settle("aborted")
        return pb.Session(id=session.id)

    async def SubscribeSession(
        self, request: feeds.SubscribeSessionRequest, context: Any
    ) -> AsyncIterator[feeds.FrameBatch]:
        self._asked("subscribe", context)
        session, cut = self._session(request.name), self._cut
        session.cursors.append(request.last_event_id)
        sent = int(request.last_event_id.partition("-")[2] or 0)
        while True:
            if session.deleted:
                yield feeds.FrameBatch(frames=[feeds.Frame(event="deleted", data=b"{}")])
                return
            fresh = session.frames[sent:]
            if fresh:
                yield feeds.FrameBatch(
                    frames=[
                        feeds.Frame(id=f"1-{sent + place}", event=event, data=orjson.dumps(body))
                        for place, (event, body) in enumerate(fresh, 1)
                    ]
                )
                sent += len(fresh)
            if cut.is_set():
                raise Unavailable("BROKEN", "the test cut the stream")
            await asyncio.sleep(0.01)

    def _asked(self, call: str, context: Any) -> None:
        metadata: Any = context.invocation_metadata() or ()
        self.authorizations.add(next((value for key, value in metadata if key == "authorization"), ""))
        self.asked[call] += 1
        if call in self.refuse:
            raise self.refuse[call]

    def _session(self, name: str) -> FakeSession:
        session = self.sessions.get(name.removeprefix("sessions/"))
        if session is None:
            raise NotFound("SESSION_NOT_FOUND", "there is no such session")
        self._there(session)
        return session

    def _there(self, session: FakeSession) -> None:
        if session.deleted:
            raise NotFound("SESSION_NOT_FOUND", "there is no such session")


class SessionsServer:
    """The servicer behind a real server that can go away and come back on the same port, keeping its rows."""

    def __init__(self, service: FakeSessions) -> None:
        self.service = service
        self.address = "127.0.0.1:0"
        self._server: GrpcServer | None = None

    async def start(self) -> None:
        servicers: Any = [
            (add_SessionServiceServicer_to_server, self.service, "treadle.streaming.v1.SessionService"),
            (add_FeedServiceServicer_to_server, self.service, "treadle.streaming.v1.FeedService"),
        ]
        self._server = GrpcServer("streaming", self.address, servicers, Authenticator(None, SystemClock()))
        self.address = await self._server.start()

    async def stop(self) -> None:
        """At once: calls under way are cut."""
        if self._server is not None:
            await self._server.stop(0)
            self._server = None
