"""Workers of one session in memory for the CLI's tests: their REST, with pages, notes that are dropped, and a wait."""

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
SESSION = f"ses_{1:032x}"
_ENDED = ("succeeded", "failed", "cancelled", "interrupted")


@dataclass
class WorkerGateway:
    """`live`: a turn of the coordinator is under way. A wait ends the workers of `ends`, one a call."""

    workers: list[Json] = field(default_factory=list)
    results: dict[str, list[str]] = field(default_factory=dict)
    notes: list[Json] = field(default_factory=list)
    ends: list[str] = field(default_factory=list)
    asked: list[tuple[str, Json]] = field(default_factory=list)
    live: bool = True
    url: str = ""

    def app(self) -> Starlette:
        at = "/api/sessions/{id}/workers"
        return Starlette(
            routes=[
                Route("/api/coordination/flag", self._flag, methods=["POST"]),
                Route(at, self._list, methods=["GET"]),
                Route(at, self._spawn, methods=["POST"]),
                Route(f"{at}/wait", self._wait),
                Route(at + "/{name}/collect", self._collect, methods=["POST"]),
                Route(at + "/{name}/cancel", self._cancel, methods=["POST"]),
                Route("/api/sessions/{id}/notes", self._note, methods=["POST"]),
                Route("/api/sessions/{id}/notes", self._notes, methods=["GET"]),
            ]
        )

    def add(self, name: str, status: str = "running", **more: Any) -> Json:
        worker: Json = {
            "name": name,
            "id": f"wrk_{len(self.workers)}",
            "kind": "subagent",
            "status": status,
            "reason": "",
        }
        worker |= {"brief": f"do {name}", "has_result": False, "partial": False, "result_length": 0, "waiting": False}
        worker |= {"cancel_requested": False, "cancel_reason": "", "late": False}
        worker |= {"create_time": "2026-01-01T00:00:00Z", **more}
        self.workers.append(worker)
        return worker

    def deliver(self, name: str, *pages: str, **more: Any) -> None:
        self.results[name] = list(pages)
        length = sum(map(len, pages))
        self._named(name).update(has_result=True, result_length=length, **more)

    def _named(self, name: str) -> Json:
        return next(worker for worker in self.workers if worker["name"] == name)

    async def _body(self, request: Request, call: str) -> Json:
        body: Json = await request.json()
        self.asked.append((call, body))
        return body

    async def _flag(self, request: Request) -> Response:
        body = await self._body(request, "flag")
        return JSONResponse({"ok": True, **body})

    async def _list(self, request: Request) -> Response:
        return JSONResponse({"ok": True, "threads": self.workers, "next_page_token": ""})

    async def _spawn(self, request: Request) -> Response:
        body = await self._body(request, "spawn")
        if not self.live:
            return _problem(409, "NO_LIVE_TURN", "thread_spawn needs a live coordinator turn")
        items = []
        for spec in body["threads"]:
            taken = any(worker["name"] == spec["name"] for worker in self.workers)
            items.append({"name": spec["name"], "ok": not taken, "code": "name_taken" if taken else "", "error": ""})
            if not taken:
                self.add(spec["name"], "spawning", brief=spec["brief"])
        return JSONResponse({"ok": True, "threads": items})

    async def _collect(self, request: Request) -> Response:
        body = await self._body(request, "collect")
        name = request.path_params["name"]
        worker, pages = self._named(name), self.results.get(name, [])
        at = int(body.get("page_token") or 0)
        more = str(at + 1) if at + 1 < len(pages) else ""
        answer = {"collected": bool(pages), "thread_name": name, "status": worker["status"], "hint": "look later"}
        answer |= {"reason": worker["reason"], "partial": worker["partial"], "version": 2, "final": True}
        return JSONResponse({**answer, "result": pages[at] if pages else "", "next_page_token": more})

    async def _cancel(self, request: Request) -> Response:
        await self._body(request, "cancel")
        worker = self._named(request.path_params["name"])
        if worker["status"] in _ENDED:
            return _problem(409, "WORKER_ENDED", "it has ended", {"status": worker["status"]})
        worker.update({"cancel_requested": True} if worker["status"] == "running" else {"status": "cancelled"})
        return JSONResponse({"thread": worker})

    async def _note(self, request: Request) -> Response:
        body = await self._body(request, "note")
        note = {"sequence": len(self.notes) + 1, "text": body["note"], "by": "user:ann"}
        self.notes.append({**note, "create_time": "2026-01-01T00:00:00Z"})
        answer: Json = {"ok": True, "note_count": min(len(self.notes), 50), "note": self.notes[-1]}
        if len(self.notes) > 50:
            answer["evicted_note"] = self.notes.pop(0)
        return JSONResponse(answer)

    async def _notes(self, request: Request) -> Response:
        return JSONResponse({"notes": self.notes, "next_page_token": ""})

    async def _wait(self, request: Request) -> Response:
        query = request.query_params
        self.asked.append(("wait", {"mode": query["mode"], "names": query.getlist("names")}))
        if self.ends:
            self._named(self.ends.pop(0)).update(status="succeeded", reason="completed")
        ended = [worker for worker in self.workers if worker["status"] in _ENDED]
        need = {"any": 1, "quorum": int(query.get("n", 0))}.get(query["mode"], len(self.workers))
        done = {"satisfied": len(ended) >= need, "ended": len(ended), "waited_for": len(self.workers)}

        async def frames() -> AsyncIterator[bytes]:
            yield b": ping\n\n"
            for worker in ended:
                yield b"event: worker\ndata: " + orjson.dumps(worker) + b"\n\n"
            yield b"event: done\ndata: " + orjson.dumps(done) + b"\n\n"

        return StreamingResponse(frames(), media_type="text/event-stream")


def _problem(status: int, reason: str, detail: str, metadata: Json | None = None) -> Response:
    return JSONResponse({"status": status, "detail": detail, "reason": reason, "metadata": metadata or {}}, status)
