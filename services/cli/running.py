"""Runs a command's coroutine and turns its end into output and an exit code."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine
from typing import Any

import orjson
import typer
from rich.console import Console

from services.cli.exits import CommandFailed, Exit
from services.cli.plain import plain


def run(command: Coroutine[Any, Any, Exit | None], *, as_json: bool = False) -> None:
    """To the end. A failure goes to standard error: a sentence, or with `--json` `{"error": …}`."""
    try:
        code = asyncio.run(command) or Exit.OK
    except CommandFailed as failed:
        _tell(failed, as_json)
        code = failed.exit
    except KeyboardInterrupt:
        code = Exit.INTERRUPTED
    except BrokenPipeError:
        # `treadle … | head`: the reader has had enough. Nothing more may be written, not even at exit.
        sys.stdout = None
        code = Exit.OK
    if code is not Exit.OK:
        raise typer.Exit(int(code))


def _tell(failed: CommandFailed, as_json: bool) -> None:
    if as_json:
        error = failed.problem or {"detail": failed.message}
        sys.stderr.buffer.write(orjson.dumps({"error": error, "exit_code": int(failed.exit)}) + b"\n")
    else:
        Console(stderr=True, soft_wrap=True).print(plain(f"treadle: {failed.message}"), style="red")
