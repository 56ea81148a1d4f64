"""`/openapi.json`, and `/docs`: a page of our own that shows it. Nothing is loaded from elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

_PAGE: Final = Path(__file__).parent / "page"
_FILES: Final = {
    "/docs": ("docs.html", "text/html; charset=utf-8"),
    "/docs/docs.js": ("docs.js", "text/javascript; charset=utf-8"),
    "/docs/docs.css": ("docs.css", "text/css; charset=utf-8"),
}
_HEADERS: Final = {"cache-control": "no-cache"}


class DocumentPages:
    """Serves the document, encoded once, and the three files of its page."""

    def __init__(self, document: dict[str, Any]) -> None:
        self._document = orjson.dumps(document)
        self._files = {path: ((_PAGE / name).read_bytes(), kind) for path, (name, kind) in _FILES.items()}

    def routes(self) -> list[Route]:
        """Where they are served."""
        return [Route("/openapi.json", self._json), *(Route(path, self._file) for path in self._files)]

    async def _json(self, _: Request) -> Response:
        return Response(self._document, media_type="application/json", headers=_HEADERS)

    async def _file(self, request: Request) -> Response:
        body, kind = self._files[request.url.path]
        return Response(body, headers={**_HEADERS, "content-type": kind})
