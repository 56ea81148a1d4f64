"""Options and arguments that several commands share."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="JSON on standard output, for scripts.")]
Url: TypeAlias = Annotated[
    str | None,
    typer.Option("--url", envvar="TREADLE_URL", help="Where Treadle answers.", show_default="http://127.0.0.1:8080"),
]
Thread: TypeAlias = Annotated[
    str, typer.Argument(metavar="ID", help="A thread: its whole id, or the last digits that lists show.")
]
Limit: TypeAlias = Annotated[int, typer.Option("--limit", "-n", min=1, max=10_000, help="At most so many.")]
Yes: TypeAlias = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask back.")]
