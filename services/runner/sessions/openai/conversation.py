"""The conversation of an openai agent as the endpoint takes it: always one that it accepts, whatever was cut short."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import orjson

from services.runner.application.agents import AgentFault
from services.runner.domain.agent import STATE_BYTES
from services.runner.sessions.openai.calls import Called

_STATE_MOST: Final = STATE_BYTES - 64 * 1024
_KEYS: Final = ("role", "content", "tool_calls", "tool_call_id")


class Conversation:
    """Messages in order."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []

    def restore(self, state: bytes) -> None:
        """What an earlier agent left. Raises AgentFault."""
        try:
            kept = orjson.loads(state)["messages"]
            self.messages = [{key: m[key] for key in _KEYS if key in m} for m in kept if isinstance(m["role"], str)]
        except (orjson.JSONDecodeError, KeyError, TypeError) as fault:
            raise AgentFault(f"the state cannot be read: {fault!r}") from fault

    def asked(self, text: str) -> None:
        """The user's words."""
        self.messages.append({"role": "user", "content": text})

    def answered(self, text: str) -> None:
        """What stands of an answer, also when it was cut; an empty one is no message."""
        if text:
            self.messages.append({"role": "assistant", "content": text})

    def called(self, text: str, calls: Sequence[Called]) -> None:
        """An answer that called tools, and what each of them brought: never the one without the other."""
        made = [
            {"id": one.id, "type": "function", "function": {"name": one.name, "arguments": one.arguments}}
            for one in calls
        ]
        self.messages.append({"role": "assistant", "content": text or None, "tool_calls": made})
        self.messages += [{"role": "tool", "tool_call_id": one.id, "content": one.brought} for one in calls]

    def state(self) -> bytes | None:
        """Its oldest messages go first when it is too large; what is kept begins with the user's words."""
        kept = self.messages
        while kept and len(state := orjson.dumps({"messages": kept})) > _STATE_MOST:
            kept = _newest(kept, len(kept) // 8)
        return state if kept else None

    def shorten(self) -> bool:
        """Takes the oldest half away, but nothing since the newest words of the user; whether anything went."""
        kept = _newest(self.messages, len(self.messages) // 2)
        if not kept:
            newest = max(place for place, message in enumerate(self.messages) if message["role"] == "user")
            kept = self.messages[newest:]
        shorter = len(kept) < len(self.messages)
        self.messages = kept
        return shorter


def _newest(messages: list[dict[str, Any]], without: int) -> list[dict[str, Any]]:
    """Without so many of the oldest (one at least), and from some words of the user on."""
    start = max(1, without)
    while start < len(messages) and messages[start]["role"] != "user":
        start += 1
    return messages[start:]
