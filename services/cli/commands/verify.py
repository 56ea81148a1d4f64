"""`treadle verify`."""

from __future__ import annotations

from typing import Annotated

import typer

from services.cli.commands.options import AsJson
from services.cli.exits import Exit


def verify(
    database_url: Annotated[
        str | None,
        typer.Option(
            envvar="TREADLE_THREADS_DATABASE_URL", help="The database of threads. [default: the one of the home]"
        ),
    ] = None,
    home: Annotated[
        str | None, typer.Option(envvar="TREADLE_HOME", help="The data folder. [default: ~/.treadle]")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Checks what a database can tell: logs make rows, families count right, ends are ends.

    Reads only; safe at any time. Exit codes: 0 no fault, 1 a fault was found, 4 the database cannot be reached.
    """
    import asyncio
    import sys
    from dataclasses import asdict

    import asyncpg

    from services.cli import output
    from services.cli.verify import lines
    from services.cli.verify import verify as look
    from services.engines import EngineError
    from services.kernel.errors import Unavailable

    try:
        verdict = asyncio.run(look(database_url, home, progress=not as_json and sys.stderr.isatty()))
    except (OSError, EngineError, Unavailable, asyncpg.PostgresError) as fault:
        typer.echo(f"treadle: the database cannot be reached: {fault}", err=True)
        raise typer.Exit(Exit.UNAVAILABLE) from None
    if as_json:
        output.as_json({**asdict(verdict), "ok": not verdict.faults})
    else:
        typer.echo("\n".join(lines(verdict)))
    raise typer.Exit(Exit.REFUSED if verdict.faults else Exit.OK)
