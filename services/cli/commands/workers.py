"""`treadle workers …`: what a coordinator has started, what it delivered, and a hand on it."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

from services.cli.commands.options import AsJson, Url

app = typer.Typer(no_args_is_help=True, help="Workers of a session: start, follow, collect.")

Session: TypeAlias = Annotated[
    str, typer.Argument(metavar="ID", help="The coordinator's session: its whole id, or the last digits of lists.")
]
Name: TypeAlias = Annotated[str, typer.Argument(metavar="NAME", help="The worker's name.")]


@app.command("list")
def listing(session: Session, url: Url = None, as_json: AsJson = False) -> None:
    """Lists the workers, oldest first, and where each stands."""
    from services.cli import workers
    from services.cli.running import run

    run(workers.listing(url, session, as_json), as_json=as_json)


@app.command()
def spawn(
    session: Session,
    threads: Annotated[list[str], typer.Argument(metavar="NAME=BRIEF…", help="Workers, each with what it is to do.")],
    context: Annotated[str, typer.Option("--context", help="What all of them should know besides.")] = "",
    adapter: Annotated[str, typer.Option("--adapter", help="What drives their agents.")] = "",
    provider: Annotated[str, typer.Option("--provider", help="The model's provider.")] = "",
    model: Annotated[str, typer.Option("--model", help="The model.")] = "",
    timeout: Annotated[int, typer.Option("--timeout", min=0, max=86_400, help="Seconds for each; 0: none.")] = 0,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Starts workers, each answered for itself; 1 when one is refused.

    The coordinator must be in the middle of a turn: without a live turn everything is refused, and nothing is
    written. A worker outside of turns is made in the console (New worker).
    """
    from services.cli import workers
    from services.cli.exits import Exit
    from services.cli.running import run

    async def start() -> Exit:
        given = {"context": context, "adapter": adapter, "provider": provider, "model": model}
        common = {key: value for key, value in given.items() if value}
        specs = [workers.spec(thread, {**common, "timeout_seconds": timeout}) for thread in threads]
        return await workers.spawn(url, session, specs, as_json)

    run(start(), as_json=as_json)


@app.command()
def collect(
    session: Session,
    name: Name,
    version: Annotated[int, typer.Option("--version", min=0, help="Which report; 0: the newest.")] = 0,
    full: Annotated[bool, typer.Option("--full", help="The whole text, not only its Result section.")] = False,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Prints what a worker has delivered, to the letter; 1 when there is nothing. Never waits."""
    from services.cli import workers
    from services.cli.running import run

    run(workers.collect(url, session, name, version, full, as_json), as_json=as_json)


@app.command()
def wait(
    session: Session,
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]…", help="Whom to wait for; none: all.")] = None,
    any_: Annotated[bool, typer.Option("--any", help="Until one has ended.")] = False,
    quorum: Annotated[int | None, typer.Option("--quorum", min=1, help="Until so many have ended.")] = None,
    timeout: Annotated[float | None, typer.Option("--timeout", min=1, help="Seconds; then exit code 4.")] = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Waits until workers have ended, and tells each end as it comes."""
    from services.cli.running import run
    from services.cli.worker_wait import wait as until

    if any_ and quorum is not None:
        raise typer.BadParameter("--any and --quorum exclude each other")
    mode = "quorum" if quorum is not None else "any" if any_ else "all"
    run(until(url, session, names or [], mode, quorum or 0, timeout, as_json), as_json=as_json)


@app.command()
def note(
    session: Session,
    text: Annotated[str, typer.Argument(metavar="NOTE", help="At most 2,000 characters.")],
    worker: Annotated[str, typer.Option("--worker", "-w", help="On this worker; else on the coordinator.")] = "",
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Writes a scratch note. A list keeps its newest 50, and says which one it dropped."""
    from services.cli import workers
    from services.cli.running import run

    run(workers.note(url, session, text, worker, as_json), as_json=as_json)


@app.command()
def notes(
    session: Session,
    worker: Annotated[str, typer.Option("--worker", "-w", help="Of this worker; else of the coordinator.")] = "",
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Lists notes, oldest first."""
    from services.cli import workers
    from services.cli.running import run

    run(workers.notes(url, session, worker, as_json), as_json=as_json)


@app.command()
def cancel(
    session: Session,
    name: Name,
    reason: Annotated[str, typer.Option("--reason", help="For the record.")] = "",
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Stops a worker. What it has written so far is kept; a result that is faster wins."""
    from services.cli import workers
    from services.cli.running import run

    run(workers.cancel(url, session, name, reason, as_json), as_json=as_json)
