"""Plans and branches of a gateway in memory for the CLI's tests; a branch takes its time to be made."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

Json = dict[str, Any]


@dataclass
class PlanGateway:
    """`forking`: how often a branch is looked at before it is what `ends` says."""

    objective: str = ""
    steps: list[Json] = field(default_factory=list)
    difference: Json = field(default_factory=dict)
    forking: int = 2
    ends: Json = field(default_factory=lambda: {"state": "ready"})
    documents: dict[str, Json] = field(default_factory=dict)
    told: Json = field(default_factory=dict)
    asked: list[Json] = field(default_factory=list)
    url: str = ""

    def app(self) -> Starlette:
        at = "/api/sessions/{id}"
        return Starlette(
            routes=[
                Route(at + "/objective", self._objective),
                Route(at + "/plan", self._plan),
                Route(at + "/turns/{turn}/workspace", self._workspace),
                Route(at + "/documents", self._listed),
                Route(at + "/documents/{key}", self._document, methods=["GET", "DELETE"]),
                Route(at + "/plan/context", self._context),
                Route(at + "/branches", self._branches, methods=["POST"]),
                Route(at + "/branch", self._branch),
                Route(at + "/diff/{other}", self._diff),
            ]
        )

    def add(self, number: str, text: str, *, done: bool = False, leaf: bool = True) -> None:
        self.steps.append({"number": number, "text": text, "done": done, "leaf": leaf})

    def _drawn(self) -> Json:
        leaves = [step for step in self.steps if step["leaf"]]
        return {"steps": self.steps, "leaves": len(leaves), "done_leaves": sum(step["done"] for step in leaves)}

    async def _objective(self, request: Request) -> Response:
        return JSONResponse({"text": self.objective})

    async def _plan(self, request: Request) -> Response:
        return JSONResponse(self._drawn())

    async def _workspace(self, request: Request) -> Response:
        turn = int(request.path_params["turn"])
        if turn > 1:
            problem = {"status": 404, "detail": "no such turn", "reason": "TURN_NOT_FOUND", "metadata": {}}
            return JSONResponse(problem, 404)
        return JSONResponse({"objective": f"as of turn {turn}", "turn": turn, "live": False})

    async def _listed(self, request: Request) -> Response:
        return JSONResponse({"documents": [{**one, "content": ""} for one in self.documents.values()]})

    async def _document(self, request: Request) -> Response:
        key = request.path_params["key"]
        found = self.documents.get(key)
        if found is None:
            problem = {"status": 404, "detail": "no such document", "reason": "DOCUMENT_NOT_FOUND", "metadata": {}}
            return JSONResponse(problem, 404)
        if request.method == "GET":
            return JSONResponse(found)
        self.asked.append({"delete": key, "etag": request.headers["if-match"]})
        del self.documents[key]
        return JSONResponse({})

    async def _context(self, request: Request) -> Response:
        turn = int(request.query_params.get("turn", self.told.get("turn", 0)))
        if not self.told or turn != self.told["turn"]:
            problem = {"status": 404, "detail": "nothing", "reason": "PLAN_CONTEXT_NOT_FOUND", "metadata": {}}
            return JSONResponse(problem, 404)
        return JSONResponse(self.told)

    async def _branches(self, request: Request) -> Response:
        self.asked.append(await request.json())
        return JSONResponse({"session_id": f"ses_{2:032x}", "state": "forking", "forked": True})

    async def _branch(self, request: Request) -> Response:
        self.forking -= 1
        now = self.ends if self.forking <= 0 else {"state": "forking"}
        return JSONResponse({"session_id": request.path_params["id"], "forked": True, **now})

    async def _diff(self, request: Request) -> Response:
        return JSONResponse(self.difference)
