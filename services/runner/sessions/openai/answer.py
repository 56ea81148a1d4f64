"""One answer of an openai endpoint, heard chunk by chunk: what it says, which tools it calls, how it ends, its cost.

Trusts no chunk further than its types go: endpoints that only resemble the original say the oddest things.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from openai.types.chat import ChatCompletionChunk

from services.runner.domain.agent import AgentEvent, Outcome, TurnFailure, Usage
from services.runner.domain.reply import Reply
from services.runner.sessions.openai.calls import Calls

_REASONING: Final = ("reasoning_content", "reasoning")
_TEXTS: Final = ("content", "refusal")
_COUNT_MOST: Final = 2**53


class Answer:
    """The `number`-th message of the conversation that its agent asked for."""

    def __init__(self, reply: Reply, number: int, offered: frozenset[str]) -> None:
        self._reply = reply
        self._number = number
        self._reason: str | None = None
        self.calls = Calls(offered)
        self.usage = Usage()

    def hear(self, chunk: ChatCompletionChunk) -> Iterator[AgentEvent]:
        """What the chunk says. A refusal of the model is text as any other."""
        if chunk.usage is not None:  # in the last piece; some endpoints count up in each
            self.usage = Usage(_count(chunk.usage.prompt_tokens), _count(chunk.usage.completion_tokens))
        if not chunk.choices:
            return
        choice = chunk.choices[0]
        self._reason = choice.finish_reason or self._reason
        said = choice.delta.model_dump(warnings=False) if choice.delta is not None else {}
        thought = next((text for name in _REASONING if isinstance(text := said.get(name), str) and text), "")
        if thought:
            yield from self._reply.thinking((self._number, 0), thought)
        for place, name in enumerate(_TEXTS, 1):
            if isinstance(text := said.get(name), str) and text:
                yield from self._reply.text((self._number, place), text)
        self.calls.hear(said.get("tool_calls"))

    @property
    def end(self) -> Outcome | TurnFailure:
        """A stream that ends without saying why was cut."""
        match self._reason:
            case None | "error":
                return TurnFailure.PROVIDER_ERROR
            case "length" | "content_filter":
                return Outcome.TRUNCATED
            case _:
                return Outcome.OK


def _count(told: Any) -> int:
    return min(told, _COUNT_MOST) if type(told) is int and told > 0 else 0
