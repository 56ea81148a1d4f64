"""Sessions of a gateway in memory for the CLI's tests: REST, and a stream that is cut and resumed by its cursor."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import orjson
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

Json = dict[str, Any]


@dataclass
class SessionGateway:
    """A prompt plays `turn` (a list of events) at once. `cut_after` ends each stream after so many frames."""

    sessions: dict[str, Json] = field(default_factory=dict)
    events: dict[str, list[tuple[str, Json]]] = field(default_factory=dict)
    turn: list[tuple[str, Json]] = field(default_factory=list)
    cursors: list[str] = field(default_factory=list)
    asked: list[tuple[str, Json]] = field(default_factory=list)
    cut_after: int | None = None
    url: str = ""

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/api/sessions", self._list, methods=["GET"]),
                Route("/api/sessions", self._create, methods=["POST"]),
                Route("/api/sessions/{id}", self._get),
                Route("/api/sessions/{id}/stream", self._stream),
                Route("/api/sessions/{id}/{verb}", self._act, methods=["POST"]),
            ]
        )

    def open(self, **more: Any) -> str:
        session = f"ses_{len(self.sessions) + 1:032x}"
        card = {"id": session, "state": "idle", "adapter": "scripted", "title": "", "turn_id": "", "code": ""}
        self.sessions[session] = {**card, "update_time": "2026-01-01T00:00:00Z", **more}
        self.events[session] = [("status", {"code": "opened", "text": "The stream begins."})]
        return session

    async def _list(self, request: Request) -> Response:
        return JSONResponse({"sessions": list(self.sessions.values()), "next_page_token": ""})

    async def _create(self, request: Request) -> Response:
        body = await request.json()
        self.asked.append(("create", body))
        return JSONResponse(self.sessions[self.open(**body)])

    async def _get(self, request: Request) -> Response:
        return JSONResponse(self.sessions[request.path_params["id"]])

    async def _act(self, request: Request) -> Response:
        session, verb = self.sessions[request.path_params["id"]], request.path_params["verb"]
        body = await request.json()
        self.asked.append((verb, body))
        if verb == "steer" and session["state"] != "running":
            problem = {"title": "Conflict", "detail": "no turn is under way", "reason": "TURN_NOT_RUNNING"}
            return JSONResponse(problem, 409)
        if verb == "prompt":
            turn = f"trn_{len(self.events[session['id']])}"
            events = [("prompt", {"text": body["text"]}), ("turn", {"state": "running"}), *self.turn]
            for name, data in events:
                self.events[session["id"]].append((name, {**data, **({"turn_id": turn} if name == "turn" else {})}))
            last = self.events[session["id"]][-1][1]
            session |= {"turn_id": turn, "state": last.get("state", "running"), "code": last.get("code", "")}
            return JSONResponse({"session": session, "turn_id": turn})
        return JSONResponse({"session": session, "preserved": True} if verb == "resume" else session)

    async def _stream(self, request: Request) -> Response:
        cursor = request.headers.get("last-event-id", "")
        self.cursors.append(cursor)
        events = self.events[request.path_params["id"]]
        start = int(cursor.partition("-")[2] or 0)

        async def frames() -> AsyncIterator[bytes]:
            yield b"retry: 1\n\n"
            for number, (name, data) in list(enumerate(events, 1))[start:][: self.cut_after]:
                yield f"id: 1-{number}\nevent: {name}\ndata: ".encode() + orjson.dumps(data) + b"\n\n"

        return StreamingResponse(frames(), media_type="text/event-stream")
