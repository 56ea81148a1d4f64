"""A runner that knows no gateway: its agents have no tools."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from services.runner.application.tools import NewestToken, ToolAnswer, ToolOffer, Tools

_TEXT = "this runner has no tools: no gateway is configured"


class NoTools:
    """Implements application.tools.Toolbox and Tools."""

    @asynccontextmanager
    async def open(self, token: NewestToken, turn: str = "") -> AsyncIterator[Tools]:
        """Itself."""
        yield self

    async def offers(self) -> Sequence[ToolOffer]:
        """None."""
        return ()

    async def call(self, name: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        """A failure."""
        return ToolAnswer(_TEXT, True, {"ok": False, "error": {"code": "no_tools", "message": _TEXT}})
