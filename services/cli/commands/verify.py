"""`treadle verify`."""

from __future__ import annotations

from typing import Annotated

import typer

from services.cli.commands.options import AsJson
from services.cli.exits import Exit


def verify(
    threads: Annotated[
        str | None,
        typer.Option(
            "--database-url",
            "--threads-database-url",
            envvar="TREADLE_THREADS_DATABASE_URL",
            help="The database of threads. [default: where no database is named, all of the home]",
        ),
    ] = None,
    coordination: Annotated[
        str | None,
        typer.Option(
            "--coordination-database-url",
            envvar="TREADLE_COORDINATION_DATABASE_URL",
            help="The database of coordination.",
        ),
    ] = None,
    planning: Annotated[
        str | None,
        typer.Option(
            "--planning-database-url", envvar="TREADLE_PLANNING_DATABASE_URL", help="The database of planning."
        ),
    ] = None,
    streaming: Annotated[
        str | None,
        typer.Option(
            "--streaming-database-url", envvar="TREADLE_STREAMING_DATABASE_URL", help="The database of streaming."
        ),
    ] = None,
    home: Annotated[
        str | None, typer.Option(envvar="TREADLE_HOME", help="The data folder. [default: ~/.treadle]")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Checks what the databases can tell: threads, workers, plans, sessions, and what they say of one another.

    Reads only; safe at any time. Exit codes: 0 no fault, 1 a fault was found, 4 a database cannot be reached.
    """
    import asyncio
    import sys
    from dataclasses import asdict

    import asyncpg

    from services.cli import output
    from services.cli.verify import lines
    from services.cli.verify import verify as look
    from services.engines import EngineError
    from services.kernel.errors import Conflict, Unavailable

    given = {"threads": threads, "coordination": coordination, "planning": planning, "streaming": streaming}
    named = {service: url for service, url in given.items() if url}
    try:
        verdicts = asyncio.run(look(named, home, progress=not as_json and sys.stderr.isatty()))
    except (OSError, EngineError, Unavailable, Conflict, asyncpg.PostgresError) as fault:
        typer.echo(f"treadle: a database cannot be read: {fault}", err=True)
        raise typer.Exit(Exit.UNAVAILABLE) from None
    faults = sum(verdict.faults for verdict in verdicts)
    if as_json:
        output.as_json({"ok": not faults, "services": [asdict(verdict) for verdict in verdicts]})
    else:
        typer.echo("\n".join(lines(verdicts)))
    raise typer.Exit(Exit.REFUSED if faults else Exit.OK)
