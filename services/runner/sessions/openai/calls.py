"""Tool calls of an openai agent: put together from a stream, made one after the other, shown as events.

What a model makes of a call is kept only in a form that every endpoint takes back (a name of the alphabet, arguments
that are a JSON object, ids that differ); what was wrong with it is told to the model as the call's result.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from services.kernel.text import encodable
from services.runner.application.agents import Emit
from services.runner.application.tools import ToolOffer, Tools
from services.runner.domain.agent import Tool, ToolStatus

CALLS_MOST: Final = 64
"""Calls of one answer that are made."""
_STOPPED: Final = "The call was stopped before it ended."
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NAMELESS: Final = "unknown"
_QUOTED_MOST: Final = 500


@dataclass(slots=True)
class Called:
    """A call as the model made it; `brought` is its result, `given` what it is called with, None where that is no
    object."""

    id: str = ""
    name: str = ""
    arguments: str = ""
    brought: str = _STOPPED
    place: int = 0
    given: dict[str, Any] | None = None


class Calls:
    """Of one answer. `offered`: the names of the tools that there are."""

    def __init__(self, offered: frozenset[str] = frozenset()) -> None:
        self._offered = offered
        self._calls: list[Called] = []
        self._by_index: dict[int, Called] = {}
        self._made: list[Called] = []

    def __bool__(self) -> bool:
        return bool(self._calls)

    def hear(self, pieces: Sequence[Mapping[str, Any]] | None) -> None:
        """Pieces of a delta: id and name come once, arguments bit by bit. Endpoints that give no index mean one call a
        piece, and some give every call the same index: there another id is another call."""
        for piece in pieces or ():
            function = piece.get("function") or {}
            call = self._call(piece.get("index"), piece.get("id") or "", function.get("name") or "")
            written = function.get("arguments") or ""
            call.arguments += written if isinstance(written, str) else orjson.dumps(written).decode()

    def _call(self, index: int | None, call_id: str, name: str) -> Called:
        call = self._by_index.get(index) if index is not None else None
        if index is None and self._calls and not call_id and not name:
            call = self._calls[-1]
        if call is None or (call_id and call.id and call_id != call.id):
            call = Called(place=len(self._calls) if index is None else index)
            self._calls.append(call)
            if index is not None:
                self._by_index[index] = call
        call.id, call.name = call.id or call_id, call.name or name
        return call

    async def make(self, tools: Tools, emit: Emit, numbers: Iterator[int]) -> None:
        """Makes them in order. A cancel leaves those that have not ended as stopped; `made` has them all."""
        for place, call in enumerate(self.made(numbers)):
            shown = Tool(f"call_{next(numbers)}", call.name, ToolStatus.RUNNING)
            await emit(shown)
            status = ToolStatus.FAILED
            try:
                if place < CALLS_MOST:
                    status = await self._bring(tools, call)
                else:
                    call.brought = f"Not made: at most {CALLS_MOST} calls in one answer."
            finally:
                await emit(Tool(shown.call_id, shown.name, status))

    def made(self, numbers: Iterator[int]) -> list[Called]:
        """In the model's order, each with an id of its own."""
        if not self._made:
            ids = set[str]()
            for call in self._calls:
                call.id = encodable(call.id)
                if not call.id or call.id in ids:
                    call.id = f"call_{next(numbers)}"
                ids.add(call.id)
                call.name = call.name if _NAME.fullmatch(call.name) else _NAMELESS
                written = encodable(call.arguments).strip() or "{}"
                call.given = _object(written)
                call.arguments = "{}" if call.given is None else written
                if call.given is None:
                    call.brought = f"The arguments are not a JSON object: {written[:_QUOTED_MOST]}"
            self._made = sorted(self._calls, key=lambda call: call.place)
        return self._made

    async def _bring(self, tools: Tools, call: Called) -> ToolStatus:
        if call.given is None:
            return ToolStatus.FAILED
        if call.name not in self._offered:
            call.brought = f"There is no such tool. There are: {', '.join(sorted(self._offered)) or 'none'}."
            return ToolStatus.FAILED
        answer = await tools.call(call.name, call.given)
        call.brought = encodable(answer.text)
        return ToolStatus.FAILED if answer.failed else ToolStatus.COMPLETED


def functions(offers: Sequence[ToolOffer]) -> list[dict[str, Any]]:
    """Tools as the endpoint takes them."""
    return [
        {
            "type": "function",
            "function": {"name": one.name, "description": one.description, "parameters": dict(one.parameters)},
        }
        for one in offers
    ]


def _object(written: str) -> dict[str, Any] | None:
    try:
        arguments = orjson.loads(written)
    except orjson.JSONDecodeError:
        return None
    return arguments if isinstance(arguments, dict) else None
