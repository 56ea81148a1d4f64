"""A gateway in memory for the CLI's tests: the REST and SSE shapes of design/gateway.md, a few states, real HTTP.

Proposals come from the real scripted provider, so that the demo story plays here as it does in the house.
"""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import orjson
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from services.runner.domain.task import Feedback, InferenceTask, Item, Matter, PriorProposal, Target
from services.runner.providers.scripted import Scripted
from tests.fakes.demo_conversation import DemoConversation

Json = dict[str, Any]
_TERMINAL = {"done", "dismissed"}


@dataclass
class FakeGateway:
    """`cards` by id, `asked` in order. `down` answers 503, `idle` leaves new threads in awaiting_inference,
    `cut_after` ends each stream after so many frames."""

    cards: dict[str, Json] = field(default_factory=dict)
    asked: list[tuple[str, str, Json, str]] = field(default_factory=list)
    frames: list[tuple[str, str, Json]] = field(default_factory=list)
    cursors: list[str] = field(default_factory=list)
    down: bool = False
    idle: bool = False
    cut_after: int | None = None
    url: str = ""
    conversation: DemoConversation = field(default_factory=DemoConversation)
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    _answers: dict[str, Json] = field(default_factory=dict)
    _feedback: dict[str, list[Feedback]] = field(default_factory=dict)
    _events: dict[str, list[Json]] = field(default_factory=dict)

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/", lambda _: HTMLResponse("<html></html>")),
                Route("/healthz", lambda _: JSONResponse({"status": "ok"})),
                Route("/readyz", self._ready),
                Route("/api/inbox", self._inbox),
                Route("/api/stream", self._stream),
                Route("/api/threads", self._list, methods=["GET"]),
                Route("/api/threads", self._create, methods=["POST"]),
                Route("/api/threads/{id}", self._get),
                Route("/api/threads/{id}/events", self._log),
                Route("/api/threads/{id}/explain", self._explain),
                Route("/api/threads/{id}/stream", self._stream),
                Route("/api/threads/{id}/{verb}", self._decide, methods=["POST"]),
                *self.conversation.routes(),
            ]
        )

    async def _ready(self, _: Request) -> Response:
        return JSONResponse({"status": "ok", "services": {"threads": "serving"}}, 503 if self.down else 200)

    async def _inbox(self, request: Request) -> Response:
        waiting = [card for card in self.cards.values() if _waits(card)]
        return self._page(request, waiting, total_size=len(waiting))

    async def _list(self, request: Request) -> Response:
        states = request.query_params.getlist("state")
        cards = [card for card in reversed(self.cards.values()) if not states or card["state"] in states]
        return self._page(request, cards)

    async def _get(self, request: Request) -> Response:
        card = self.cards.get(request.path_params["id"])
        return JSONResponse(card) if card else _problem(404, "THREAD_NOT_FOUND", "there is no such thread")

    async def _log(self, request: Request) -> Response:
        return JSONResponse({"events": self._events.get(request.path_params["id"], []), "next_page_token": ""})

    async def _explain(self, request: Request) -> Response:
        answer = {"state": "awaiting_confirmation", "summary": "Somebody must approve.", "waits_on": "person"}
        return JSONResponse({**answer, "since_time": _now(), "moves": ["accept", "dismiss"]})

    async def _create(self, request: Request) -> Response:
        body, again = await self._asked(request)
        if again is not None:
            return JSONResponse(again)
        thread = f"thr_{next(self._numbers):032x}"
        now = _now()
        items = body.get("context_items", [])
        card = {"id": thread, "name": f"threads/{thread}", "title": body["title"], "context_items": items}
        card |= {"description": body.get("description", ""), "state": "awaiting_inference", "actions": []}
        self.cards[thread] = card | {"create_time": now, "update_time": now}
        return await self._answer(request, dict(self.cards[thread]), self._infer(thread))

    async def _decide(self, request: Request) -> Response:
        body, again = await self._asked(request)
        if again is not None:
            return JSONResponse(again)
        thread, verb = request.path_params["id"], request.path_params["verb"]
        card = self.cards[thread]
        before = card["state"]
        if before in _TERMINAL:
            metadata = {"decided_by": "user:other", "decision": "execute"}
            return _problem(409, "ALREADY_DECIDED", "somebody was faster", metadata, state=before)
        stands = (card["actions"] or [{}])[0].get("proposal_id")
        if body.get("proposal_id", stands) != stands:
            return _problem(409, "PROPOSAL_CHANGED", "another proposal stands", state=before)
        follow = None
        match verb:
            case "accept":
                card["state"] = "executing"
                follow = self._execute(card)
            case "dismiss":
                card["state"] = "dismissed"
            case "redirect_action" | "provide":
                said = Feedback(body.get("feedback") or body.get("text", ""), body.get("params", {}))
                self._feedback.setdefault(thread, []).append(said)
                card["state"] = "awaiting_inference"
                follow = self._infer(thread)
        event = {
            "kind": "state_transition",
            "actor": {"kind": "user", "subject": "local"},
            "seq": "1",
            "event_time": _now(),
        }
        self._events.setdefault(thread, []).append(
            {**event, "data": {"from": before, "to": card["state"], "decision": {}}}
        )
        return await self._answer(request, {"prev_state": before, "next_state": card["state"]}, follow)

    async def _execute(self, card: Json) -> None:
        failed = card["actions"][0]["name"] == "http_request"
        card["state"] = "awaiting_redirect" if failed else "done"
        if failed:
            card["failure_context"] = {"code": "host_not_allowed", "action": "http_request"}

    async def _infer(self, thread: str) -> None:
        if self.idle:
            return
        card = self.cards[thread]
        prior = [PriorProposal(a["name"], a["parameters"]) for a in card["actions"]]
        items = [Item(i["id"], i["label"], i.get("payload", {}).get("text", "")) for i in card["context_items"]]
        matter = Matter(thread, card["title"], card["description"])
        feedback = tuple(self._feedback.get(thread, ()))
        task = InferenceTask(Target.ACTION, matter, tuple(items), feedback=feedback, prior=prior[0] if prior else None)
        payload = dict((await Scripted().infer(task)).payload)
        if payload["kind"] == "clarification":
            card |= {"state": "awaiting_action_clarification", "question": payload["blocked_on"]}
            return
        number = f"{len(feedback)}-{thread[-4:]}"
        ids = {"id": f"act-{number}", "proposal_id": f"prp_{number}", "proposal_digest": "d" * 64}
        card |= {"state": "awaiting_confirmation", "actions": [{**payload, **ids, "confidence": 0.9}]}

    async def _asked(self, request: Request) -> tuple[Json, Json | None]:
        body = orjson.loads(await request.body())
        key = request.headers.get("idempotency-key", "")
        self.asked.append((request.method, request.url.path, body, key))
        return body, self._answers.get(key)

    async def _answer(self, request: Request, answer: Json, follow: Any) -> Response:
        self._answers[request.headers.get("idempotency-key", "")] = answer
        if follow is not None:
            await follow
        return JSONResponse(answer)

    def _page(self, request: Request, cards: list[Json], **more: Any) -> Response:
        if self.down:
            return _problem(503, "UNAVAILABLE", "the service cannot be reached now: try again")
        size = int(request.query_params.get("page_size", "50"))
        start = int(request.query_params.get("page_token") or "0")
        rest = str(start + size) if start + size < len(cards) else ""
        return JSONResponse({"threads": cards[start : start + size], "next_page_token": rest, **more})

    async def _stream(self, request: Request) -> Response:
        cursor = request.headers.get("last-event-id", "")
        self.cursors.append(cursor)
        if request.path_params.get("id") == "thr_" + "e" * 32:
            return _problem(404, "THREAD_NOT_FOUND", "there is no such thread")
        return StreamingResponse(self._write(request, cursor), media_type="text/event-stream")

    async def _write(self, request: Request, cursor: str) -> AsyncIterator[bytes]:
        yield b"retry: 100\n\n: hello\n\n"
        ids = [id for id, _, _ in self.frames]
        sent, position = 0, ids.index(cursor) + 1 if cursor and cursor in ids else 0
        while not await request.is_disconnected():
            while position < len(self.frames):
                id, name, data = self.frames[position]
                position, sent = position + 1, sent + 1
                head = f"id: {id}\n" if id else ""
                yield f"{head}event: {name}\ndata: ".encode() + orjson.dumps(data) + b"\n\n"
                if self.cut_after is not None and sent >= self.cut_after:
                    return
            await asyncio.sleep(0.01)


@contextmanager
def serving(gateway: FakeGateway) -> Iterator[str]:
    """Serves it on a free port from a thread of its own; answers the URL."""
    config = uvicorn.Config(gateway.app(), host="127.0.0.1", port=0, log_level="critical", lifespan="off")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        thread.join(0.01)
    gateway.url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    try:
        yield gateway.url
    finally:
        server.should_exit = server.force_exit = True
        thread.join(10)


def _waits(card: Json) -> bool:
    return card["state"].startswith("awaiting_") and card["state"] != "awaiting_inference"


def _problem(status: int, reason: str, detail: str, metadata: Json | None = None, **more: Any) -> Response:
    body = {"type": "about:blank", "title": "Conflict", "status": status, "detail": detail, "reason": reason}
    return JSONResponse({**body, "metadata": metadata or {}, **more}, status)


def _now() -> str:
    return datetime.now(UTC).isoformat().replace("+00:00", "Z")
