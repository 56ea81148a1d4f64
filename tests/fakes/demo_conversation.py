"""Sessions of the fake gateway as far as the demo story uses them: a prompt is answered at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

Json = dict[str, Any]


@dataclass
class DemoConversation:
    """`idle`: prompts are never answered."""

    sessions: dict[str, Json] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    idle: bool = False
    _answers: dict[str, Json] = field(default_factory=dict)

    def routes(self) -> list[Route]:
        at = "/api/sessions/{id}"
        return [
            Route("/api/sessions", self._list, methods=["GET"]),
            Route("/api/sessions", self._create, methods=["POST"]),
            Route(at, self._get),
            Route(at + "/prompt", self._prompt, methods=["POST"]),
            Route(at + "/objective", self._done, methods=["PUT"]),
            Route(at + "/plan/{verb}", self._done, methods=["POST"]),
            Route("/api/coordination/flag", self._done, methods=["POST"]),
        ]

    async def _list(self, request: Request) -> Response:
        return JSONResponse({"sessions": list(self.sessions.values()), "next_page_token": ""})

    async def _get(self, request: Request) -> Response:
        return JSONResponse(self.sessions[request.path_params["id"]])

    async def _create(self, request: Request) -> Response:
        key = self._key(request)
        if key not in self._answers:
            session = f"ses_{len(self.sessions) + 1:032x}"
            card = {"id": session, "state": "idle", "turn_id": "", **orjson.loads(await request.body())}
            self._answers[key] = self.sessions[session] = card
        return JSONResponse(self._answers[key])

    async def _prompt(self, request: Request) -> Response:
        self._key(request)
        card = self.sessions[request.path_params["id"]]
        card |= {"turn_id": "trn_1", "state": "running" if self.idle else "idle"}
        return JSONResponse({"session": card, "turn_id": "trn_1"})

    async def _done(self, request: Request) -> Response:
        self._key(request)
        return JSONResponse({})

    def _key(self, request: Request) -> str:
        self.asked.append(f"{request.method} {request.url.path}")
        return request.headers.get("idempotency-key", "")
