"""What a turn has said so far: its tool calls, each with exactly one end (D1.5), and its text by blocks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_TEXT_MOST: Final = 1024 * 1024


class TurnScan:
    """Fed with the turn's events in order: by its attachment while it runs, from the log otherwise."""

    def __init__(self) -> None:
        self._open: dict[str, str] = {}
        self._closed: set[str] = set()
        self._blocks: dict[int, list[str]] = {}
        self._size = 0
        self.heard = False
        """Whether there was any text, thinking or tool."""

    @property
    def open_calls(self) -> list[tuple[str, str]]:
        """(call id, name) of the calls that have not ended, in the order of their starts."""
        return list(self._open.items())

    @property
    def text(self) -> str:
        """The final text as far as it was streamed, at most a million characters."""
        return "".join("".join(self._blocks[block]) for block in sorted(self._blocks))

    def admits(self, call_id: str, status: str) -> bool:
        """Whether this may be told: one start and one end a call."""
        if status == "running":
            return call_id not in self._open and call_id not in self._closed
        return call_id not in self._closed

    def said(self, name: str, body: Mapping[str, Any]) -> None:
        """An event that stands in the log."""
        self.heard = self.heard or name in ("activity_delta", "text_delta", "tool")
        match name:
            case "tool":
                self._tool(body["call_id"], body["name"], body["status"])
            case "text_delta":
                if self._size < _TEXT_MOST:
                    self._blocks.setdefault(body["block"], []).append(body["delta"])
                    self._size += len(body["delta"])
            case "text_reset":
                for block in body["blocks"]:
                    self._size -= sum(map(len, self._blocks.pop(block, ())))
            case _:
                pass

    def _tool(self, call_id: str, name: str, status: str) -> None:
        if status == "running":
            self._open[call_id] = name
        else:
            self._open.pop(call_id, None)
            self._closed.add(call_id)
