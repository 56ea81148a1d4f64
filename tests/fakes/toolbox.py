"""Tools in memory for one agent: what a test says, and what was called."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import orjson

from services.runner.application.tools import NewestToken, ToolAnswer, ToolOffer, Tools

Handler = Callable[[dict[str, Any]], dict[str, Any]]


@dataclass
class FakeToolbox:
    """`handlers` by tool; `{"ok": False, …}` is a refusal. A call of a tool in `hanging` never ends."""

    handlers: dict[str, Handler] = field(default_factory=dict)
    hanging: set[str] = field(default_factory=set)
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)
    turns: list[str] = field(default_factory=list)
    called: asyncio.Event = field(default_factory=asyncio.Event)
    newest: NewestToken | None = None

    def of(self, tool: str) -> list[dict[str, Any]]:
        return [arguments for name, arguments in self.calls if name == tool]

    @asynccontextmanager
    async def open(self, token: NewestToken, turn: str = "") -> AsyncIterator[Tools]:
        self.newest = token
        self.tokens.append(token())
        self.turns.append(turn)
        yield self

    async def offers(self) -> Sequence[ToolOffer]:
        return [ToolOffer(name, f"Does {name}", {"type": "object"}) for name in self.handlers]

    async def call(self, name: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        self.calls.append((name, dict(arguments)))
        self.called.set()
        if name in self.hanging:
            await asyncio.Event().wait()
        body = self.handlers[name](dict(arguments))
        return ToolAnswer(orjson.dumps(body).decode(), body.get("ok") is False, body)


def team(results: dict[str, dict[str, Any]] | None = None) -> FakeToolbox:
    """A coordination that spawns whatever it is asked to, once a name, and has results for all."""
    names: list[str] = []

    def spawn(arguments: dict[str, Any]) -> dict[str, Any]:
        items = []
        for one in arguments["threads"]:
            taken = one["name"] in names
            names.append(one["name"])
            items.append({"name": one["name"], "ok": not taken, **({"code": "name_taken"} if taken else {})})
        return {"ok": True, "threads": items}

    def collect(arguments: dict[str, Any]) -> dict[str, Any]:
        name = arguments["thread_name"]
        found = {"status": "succeeded", "reason": "completed", "result": f"Result of {name}", "partial": False}
        return {"collected": True, "thread_name": name, **found, **(results or {}).get(name, {})}

    def wait(arguments: dict[str, Any]) -> dict[str, Any]:
        return {"done": {"satisfied": True, "ended": len(names), "waited_for": len(names)}}

    def status(arguments: dict[str, Any]) -> dict[str, Any]:
        threads = [{"name": name, "status": "running"} for name in names]
        return {"ok": True, "threads": threads, "assignment": {"name": "me"}}

    plan = {"steps": [{"number": "1", "done": True, "text": "one"}, {"number": "2", "done": False, "text": "two"}]}
    done = {"ok": True}
    tools = ("thread_note", "thread_cancel", "thread_report", "set_objective")
    plans = ("get_plan", "add_todos", "toggle_todos", "edit_todos", "remove_todos")
    return FakeToolbox(
        {
            "thread_spawn": spawn,
            "thread_wait": wait,
            "thread_collect": collect,
            "thread_status": status,
            **{name: lambda arguments: done for name in tools},
            **{name: lambda arguments: plan for name in plans},
        }
    )
