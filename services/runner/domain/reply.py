"""The answer of one turn as it stands: numbered blocks of text and thinking, whole characters only."""

from __future__ import annotations

from typing import TypeAlias

from services.kernel.text import encodable
from services.runner.domain.agent import ActivityDelta, AgentEvent, TextDelta, TextReset

Key: TypeAlias = tuple[int, int]
"""A block as the agent names it: the message's number and the place in it."""


class Reply:
    """Numbers blocks densely over the agent's life and keeps the text of the turn under way."""

    def __init__(self) -> None:
        self._numbers: dict[Key, int] = {}
        self._newest = 0
        self._text: dict[int, list[str]] = {}
        self._half: dict[int, str] = {}

    def begin(self) -> None:
        """A new turn: nothing of the last one stands."""
        self._numbers.clear()
        self._text.clear()
        self._half.clear()

    def thinking(self, key: Key, delta: str) -> list[AgentEvent]:
        """A piece of thinking of the block that the agent calls `key`."""
        block = self._number(key)
        return [ActivityDelta(block, whole)] if (whole := self._whole(block, delta)) else []

    def text(self, key: Key, delta: str) -> list[AgentEvent]:
        """A piece of the answer."""
        block = self._number(key)
        if not (whole := self._whole(block, delta)):
            return []
        self._text.setdefault(block, []).append(whole)
        return [TextDelta(block, whole)]

    def text_ended(self, key: Key, content: str) -> list[AgentEvent]:
        """The block's whole text counts: where the pieces say something else they are void (D2.6)."""
        block = self._number(key)
        self._half.pop(block, None)
        content = encodable(content)
        streamed = "".join(self._text.get(block, []))
        if streamed == content:
            return []
        self._text[block] = [content]
        void: list[AgentEvent] = [TextReset((block,))] if streamed else []
        return [*void, TextDelta(block, content)] if content else void

    def halves(self) -> list[AgentEvent]:
        """First halves of pairs whose other half never came: of the text, as it ends."""
        lost = [block for block in sorted(self._half) if block in self._text]
        for block in lost:
            self._text[block].append(encodable(self._half[block]))
        self._half.clear()
        return [TextDelta(block, self._text[block][-1]) for block in lost]

    def discard(self, message: int) -> list[AgentEvent]:
        """The text of this message is void."""
        numbers = {number for key, number in self._numbers.items() if key[0] == message}
        blocks = tuple(sorted(numbers & self._text.keys()))
        for block in blocks:
            del self._text[block]
        return [TextReset(blocks)] if blocks else []

    @property
    def standing(self) -> str:
        """What stands, blocks in order, parted by empty lines."""
        return "\n\n".join(text for block in sorted(self._text) if (text := "".join(self._text[block])))

    def of_message(self, message: int) -> str:
        """What stands of one message."""
        blocks = sorted(number for key, number in self._numbers.items() if key[0] == message)
        return "\n\n".join(text for block in blocks if (text := "".join(self._text.get(block, []))))

    def _number(self, key: Key) -> int:
        number = self._numbers.get(key)
        if number is None:
            self._newest += 1
            number = self._numbers[key] = self._newest
        return number

    def _whole(self, block: int, delta: str) -> str:
        """A first half of a surrogate pair waits for its other half in the next piece."""
        if delta.isascii() and block not in self._half:
            return delta
        delta = self._half.pop(block, "") + delta
        if delta and "\ud800" <= delta[-1] <= "\udbff":
            self._half[block], delta = delta[-1], delta[:-1]
        return encodable(delta)
