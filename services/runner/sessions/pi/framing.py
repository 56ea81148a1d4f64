"""Pi's stdout as records: one JSON object per LF (design/streaming.md D2.2). Bytes in, records out.

U+2028, U+2029 and CR inside a line are text. What is no record is counted and ignored, but for a line that is too long
and a torn last one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final, TypeAlias

import orjson

LINE_BYTES: Final = 32 * 1024 * 1024
Record: TypeAlias = dict[str, Any]


class BrokenFraming(Exception):
    """A line longer than the cap, or a last one that does not parse: protocol_error."""


class Framing:
    """Feed it bytes as they come; it keeps what is not a whole line yet."""

    def __init__(self, most: int = LINE_BYTES) -> None:
        self._most = most
        self._kept = bytearray()
        self.ignored = 0
        """How many lines were no records."""

    def feed(self, piece: bytes) -> Iterator[Record]:
        """The records that this piece completes. Raises BrokenFraming."""
        start = 0
        while (end := piece.find(b"\n", start)) >= 0:
            line = piece[start:end]
            if self._kept:
                self._kept += line
                line = bytes(self._kept)
                self._kept.clear()
            start = end + 1
            self._check(len(line))
            if (record := self._record(line)) is not None:
                yield record
        self._kept += piece[start:]
        self._check(len(self._kept))

    def end(self) -> Record | None:
        """The unterminated tail, if it is a record. Raises BrokenFraming if it is something else."""
        tail = bytes(self._kept)
        self._kept.clear()
        if not tail.strip():
            return None
        record = self._record(tail)
        if record is None:
            raise BrokenFraming("the last line is torn")
        return record

    def _check(self, size: int) -> None:
        if size > self._most:
            raise BrokenFraming(f"a line of more than {self._most} bytes")

    def _record(self, line: bytes) -> Record | None:
        if not line.strip():
            return None
        record = _parsed(line)
        if isinstance(record, dict) and isinstance(record.get("type"), str):
            return record
        self.ignored += 1
        return None


def _parsed(line: bytes) -> Any:
    """JSON, or None. JavaScript writes halves of a pair as escapes, which orjson refuses and json takes."""
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        pass
    try:
        return json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError):
        return None


def written(record: Record) -> bytes:
    """A command as one line."""
    return orjson.dumps(record) + b"\n"
