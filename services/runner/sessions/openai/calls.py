"""Tool calls of an openai agent: put together from a stream, made one after the other, shown as events."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from services.runner.application.agents import Emit
from services.runner.application.tools import ToolOffer, Tools
from services.runner.domain.agent import Tool, ToolStatus

_STOPPED = "The call was stopped before it ended."


@dataclass(slots=True)
class Called:
    """A call as the model made it; `brought` is its result."""

    id: str = ""
    name: str = ""
    arguments: str = ""
    brought: str = _STOPPED


class Calls:
    """Of one answer."""

    def __init__(self) -> None:
        self._by_index: dict[int, Called] = {}

    def __bool__(self) -> bool:
        return bool(self._by_index)

    def hear(self, pieces: Sequence[Mapping[str, Any]] | None) -> None:
        """Pieces of a delta: id and name come once, arguments bit by bit. Endpoints that give no index mean one call
        a piece."""
        for piece in pieces or ():
            index = piece.get("index")
            call = self._by_index.setdefault(len(self._by_index) if index is None else int(index), Called())
            function = piece.get("function") or {}
            call.id = piece.get("id") or call.id
            call.name = call.name or function.get("name") or ""
            call.arguments += function.get("arguments") or ""

    async def make(self, tools: Tools, emit: Emit, numbers: Iterator[int]) -> list[Called]:
        """Makes them in order. A cancel leaves those that have not ended as stopped; `made` has them all."""
        for call in self.made(numbers):
            shown = Tool(f"call_{next(numbers)}", call.name, ToolStatus.RUNNING)
            await emit(shown)
            status = ToolStatus.FAILED
            try:
                call.brought, status = await _brought(tools, call)
            except asyncio.CancelledError:
                await emit(Tool(shown.call_id, shown.name, status))
                raise
            await emit(Tool(shown.call_id, shown.name, status))
        return self.made(numbers)

    def made(self, numbers: Iterator[int]) -> list[Called]:
        """In the model's order, each with an id."""
        calls = [self._by_index[index] for index in sorted(self._by_index)]
        for call in calls:
            call.id = call.id or f"call_{next(numbers)}"
            call.arguments = call.arguments or "{}"
        return calls


def functions(offers: Sequence[ToolOffer]) -> list[dict[str, Any]]:
    """Tools as the endpoint takes them."""
    return [
        {
            "type": "function",
            "function": {"name": one.name, "description": one.description, "parameters": dict(one.parameters)},
        }
        for one in offers
    ]


async def _brought(tools: Tools, call: Called) -> tuple[str, ToolStatus]:
    try:
        arguments = orjson.loads(call.arguments)
    except orjson.JSONDecodeError:
        arguments = None
    if not isinstance(arguments, dict):
        return "The arguments are not a JSON object.", ToolStatus.FAILED
    answer = await tools.call(call.name, arguments)
    return answer.text, ToolStatus.FAILED if answer.failed else ToolStatus.COMPLETED
