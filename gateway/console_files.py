"""The built console at `/`: hashed assets are kept for ever, every other path is the page itself."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse, Response
from starlette.staticfiles import StaticFiles

from gateway.http import Receive, Scope, Send

_FOR_EVER: Final = "public, max-age=31536000, immutable"
_ASK_FIRST: Final = "no-cache"
_NOT_BUILT: Final = "The console is not built. Run `make console`, then reload this page.\n"


class ConsoleFiles(StaticFiles):
    """Serves one folder. What is not there and looks like a page is index.html (the console routes by itself)."""

    def __init__(self, folder: Path) -> None:
        super().__init__(directory=folder, check_dir=False)
        self._index = folder / "index.html"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request; it may come before the console was built."""
        if self._index.is_file():
            await super().__call__(scope, receive, send)
        else:
            await PlainTextResponse(_NOT_BUILT, 503, {"cache-control": "no-store"})(scope, receive, send)

    async def get_response(self, path: str, scope: Scope) -> Response:
        """A file, or the page."""
        if path in (".", ""):
            path = "index.html"
        try:
            response = await super().get_response(path, scope)
        except HTTPException as fault:
            looks_like_a_file = path.startswith("assets/") or "." in path.rpartition("/")[2]
            if fault.status_code != 404 or looks_like_a_file:
                raise
            response = await super().get_response("index.html", scope)
        kept = path.startswith("assets/") and response.status_code in (200, 304)
        response.headers["cache-control"] = _FOR_EVER if kept else _ASK_FIRST
        return response
