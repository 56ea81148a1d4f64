"""Carries out what team.py reads: calls tools one after the other and puts what they bring into words."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias, assert_never

from services.runner.application.tools import ToolAnswer
from services.runner.sessions.scripted.team import (
    Await,
    Brief,
    Call,
    Collect,
    Report,
    Spawn,
    TeamStep,
    TellContext,
)

UseTool: TypeAlias = Callable[[str, Mapping[str, Any]], Awaitable[ToolAnswer]]
"""Calls a tool and shows it in the stream."""
_ROUNDS_MOST: Final = 288
"""A patient wait: 300 s each, a day in all."""
_NAMES_MOST: Final = 9


class Teamwork:
    """One turn's. `context`: what the agent was told besides the prompt."""

    def __init__(self, use: UseTool, context: str) -> None:
        self._use = use
        self._context = context
        self._spawned: list[str] = []

    async def do(self, step: TeamStep) -> str:
        """What is to be said; empty: nothing."""
        match step:
            case Spawn(briefs, again):
                return await self._spawn(briefs, again)
            case Await():
                return await self._wait(step)
            case Collect(names):
                return await self._collect(names)
            case Call(tool, arguments, say):
                answer = await self._use(tool, arguments)
                return _refusal(tool, answer) if answer.failed else (_told(answer.content) if say else "")
            case Report(words):
                return await self._report(words)
            case TellContext():
                return self._context or "I was told nothing besides."
            case _:
                assert_never(step)

    async def _spawn(self, briefs: Sequence[Brief], again: bool) -> str:
        threads = [{"name": one.name, "brief": one.words} for one in briefs]
        answer = await self._use("thread_spawn", {"threads": threads})
        if answer.failed:
            return _refusal("thread_spawn", answer)
        faults = list[str]()
        for brief, item in zip(briefs, answer.content.get("threads", []), strict=False):
            name = brief.name
            number = 2
            while again and item.get("code") == "name_taken" and number <= _NAMES_MOST:
                name, number = f"{brief.name}-{number}", number + 1
                one = await self._use("thread_spawn", {"threads": [{"name": name, "brief": brief.words}]})
                if one.failed:
                    return _refusal("thread_spawn", one)
                item = one.content["threads"][0]
            if item.get("ok"):
                self._spawned.append(name)
            else:
                faults.append(f"{brief.name} was not spawned: {item.get('code')}.")
        return "\n".join(faults)

    async def _wait(self, step: Await) -> str:
        arguments: dict[str, Any] = {"mode": step.mode, "timeout_seconds": step.seconds}
        if step.count:
            arguments["n"] = step.count
        if step.patient:
            if not self._spawned:
                return ""
            arguments["names"] = self._spawned
        for _ in range(_ROUNDS_MOST if step.patient else 1):
            answer = await self._use("thread_wait", arguments)
            if answer.failed:
                return _refusal("thread_wait", answer)
            done = answer.content.get("done", answer.content)
            if done.get("satisfied"):
                return ""
        return f"Waited {step.seconds} s: {done.get('ended', 0)} of {done.get('waited_for', 0)} have ended."

    async def _collect(self, names: Sequence[str] | None) -> str:
        if names is None and not self._spawned:
            roster = await self._use("thread_status", {})
            if roster.failed:
                return _refusal("thread_status", roster)
            names = [str(one["name"]) for one in roster.content.get("threads", [])]
        return "\n\n".join([await self._collected(name) for name in names or self._spawned])

    async def _collected(self, name: str) -> str:
        """Every page of it."""
        arguments: dict[str, Any] = {"thread_name": name}
        text = ""
        while True:
            answer = await self._use("thread_collect", arguments)
            if answer.failed:
                return f"### {name}\n\n{_refusal('thread_collect', answer)}"
            body = answer.content
            text += body.get("result") or ""
            if not (token := body.get("next_page_token")):
                break
            arguments = {"thread_name": name, "version": body.get("version", 0), "page_token": token}
        status, reason = str(body.get("status") or "unknown"), body.get("reason")
        end = f"{status}: {reason}" if reason and reason != "completed" else status
        part = ", partial" if body.get("partial") else ""
        return f"### {name} ({end}{part})\n\n{text or 'It has delivered nothing.'}"

    async def _report(self, words: str) -> str:
        """Its own name stands in the roster."""
        roster = await self._use("thread_status", {})
        name = (roster.content.get("assignment") or {}).get("name", "")
        answer = await self._use("thread_report", {"thread_name": name, "text": words})
        return _refusal("thread_report", answer) if answer.failed else ""


def _refusal(tool: str, answer: ToolAnswer) -> str:
    error = answer.content.get("error")
    words = error.get("message") if isinstance(error, Mapping) else None
    return f"{tool} was refused: {words or answer.text}"


def _told(content: Mapping[str, Any]) -> str:
    """A roster, a plan or proposals, a line each."""
    if "proposal_id" in content:
        return "I proposed it; it waits for a person."
    if "proposals" in content:
        lines = []
        for one in content["proposals"]:
            decided = f" ({one['decision']})" if one.get("decision") else ""
            lines.append(f"- {one.get('title')}: {one.get('state')}{decided}")
        return "\n".join(lines) or "I have proposed nothing."
    if "steps" in content:
        lines = [
            f"{step.get('number')} [{'x' if step.get('done') else ' '}] {step.get('text')}" for step in content["steps"]
        ]
        return "\n".join(lines) or "The plan is empty."
    lines = []
    for one in content.get("threads", []):
        reason = f" ({one['reason']})" if one.get("reason") else ""
        lines.append(f"- {one.get('name')}: {one.get('status')}{reason}")
    return "\n".join(lines) or "There are no workers."
