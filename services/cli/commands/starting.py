"""`treadle up`, `serve` and `migrate`: what starts Treadle or parts of it."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from services.cli.commands.options import AsJson


class Deployable(StrEnum):
    """What can be served alone."""

    THREADS = "threads"
    COORDINATION = "coordination"
    PLANNING = "planning"
    STREAMING = "streaming"
    RUNNER = "runner"
    GATEWAY = "gateway"


class Migrated(StrEnum):
    """Services with a database."""

    THREADS = "threads"
    COORDINATION = "coordination"
    PLANNING = "planning"
    STREAMING = "streaming"


def up(
    home: Annotated[
        str | None, typer.Option(envvar="TREADLE_HOME", help="The data folder. [default: ~/.treadle]")
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            envvar="TREADLE_PORT", min=0, max=65535, help="The gateway's port. [default: 8080, or the next free]"
        ),
    ] = None,
    demo: Annotated[bool, typer.Option("--demo", help="Fill the demo story where there is no thread yet.")] = False,
    open_browser: Annotated[
        bool, typer.Option("--open-browser/--no-open-browser", envvar="TREADLE_OPEN_BROWSER", help="Open the console.")
    ] = True,
) -> None:
    """Starts everything on this machine: Postgres, NATS, all services, a runner, the gateway with its console.

    Exit codes: 0 stopped, 1 refused (folder in use, full or read-only, port taken), 2 wrong settings.
    """
    from services.cli.up import UpOptions
    from services.cli.up import up as run_up

    raise typer.Exit(run_up(UpOptions(home, port, demo, open_browser)))


def serve(service: Annotated[Deployable, typer.Argument(help="Which one.")]) -> None:
    """Runs one deployable alone, against the URLs of the environment (TREADLE_…)."""
    from services.cli.serve import serve_alone

    serve_alone(service.value)


def migrate(
    services: Annotated[list[Migrated] | None, typer.Argument(help="Which services. [default: all]")] = None,
    as_json: AsJson = False,
) -> None:
    """Brings the services' databases to the newest schema. Safe to run twice, and by several at once."""
    from services.cli import output
    from services.cli.migrate import migrate_services
    from services.kernel.settings import SettingsFault

    try:
        revisions = migrate_services(tuple(service.value for service in services or ()))
    except SettingsFault as fault:
        typer.echo(f"treadle: the settings are wrong\n{fault}", err=True)
        raise typer.Exit(2) from None
    except OSError as fault:
        typer.echo(f"treadle: a database cannot be reached: {fault}", err=True)
        raise typer.Exit(4) from None
    if as_json:
        output.as_json(revisions)
    else:
        for name, revision in revisions.items():
            typer.echo(f"{name} {revision}")
