"""Where results go: tables for people, JSON for scripts. One place decides widths and encodings."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable
from datetime import UTC, datetime
from typing import Any

import orjson
from rich.console import Console
from rich.table import Table
from rich.text import Text

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


def table(columns: Iterable[str], rows: Iterable[Iterable[str | Text]], flexible: Collection[str]) -> Table:
    """A table without boxes, one line a row; only the `flexible` columns give way when the terminal is narrow."""
    made = Table(box=None, pad_edge=False, header_style="bold")
    names = list(columns)
    for column in names:
        # Rich shrinks columns that may wrap; that they do not wrap all the same is said by their cells.
        made.add_column(column, no_wrap=column not in flexible)
    for row in rows:
        made.add_row(*(_on_one_line(cell) for cell in row))
    return made


def _on_one_line(cell: str | Text) -> Text:
    text = Text(cell) if isinstance(cell, str) else cell.copy()
    text.no_wrap, text.overflow = True, "ellipsis"
    return text


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
