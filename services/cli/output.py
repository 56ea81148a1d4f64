"""Where results go: tables for people, JSON for scripts. One place decides widths and encodings."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import orjson
from rich.console import Console, RenderableType
from rich.table import Table

_PIPE_WIDTH = 160


def console() -> Console:
    """Standard output. A pipe gets wide lines: nothing is cut because a terminal was not there to ask."""
    out = Console(highlight=False)
    return out if out.is_terminal else Console(highlight=False, width=_PIPE_WIDTH)


def as_json(value: Any) -> None:
    """One JSON document on standard output, indented."""
    sys.stdout.buffer.write(orjson.dumps(value, option=orjson.OPT_INDENT_2) + b"\n")
    sys.stdout.buffer.flush()


def json_line(value: Any) -> None:
    """One JSON document on one line, flushed: for streams."""
    sys.stdout.buffer.write(orjson.dumps(value) + b"\n")
    sys.stdout.buffer.flush()


def table(columns: Iterable[str], rows: Iterable[Iterable[RenderableType]], flexible: str) -> Table:
    """A table without boxes; only the column `flexible` gives way when the terminal is narrow."""
    made = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        made.add_column(column, no_wrap=True, overflow="ellipsis", ratio=1 if column == flexible else None)
    for row in rows:
        made.add_row(*row)
    return made


def age(time: str | None, now: datetime | None = None) -> str:
    """How long ago a REST time stamp is: `12 s`, `5 min`, `3 h`, `2 d`."""
    if not time:
        return "-"
    then = datetime.fromisoformat(time)
    seconds = max(0, int(((now or datetime.now(UTC)) - then).total_seconds()))
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def until(time: str | None, now: datetime | None = None) -> str:
    """How far ahead a REST time stamp is, in the same units."""
    if not time:
        return "-"
    ahead = datetime.fromisoformat(time) - (now or datetime.now(UTC))
    return age((datetime.now(UTC) - ahead).isoformat())
