"""`treadle plan …`: what a session is for and its steps, and what its agent was told; branches and how they differ."""

from __future__ import annotations

from typing import Annotated

import typer

from services.cli.commands.options import AsJson, Url
from services.cli.commands.sessions import Session

app = typer.Typer(no_args_is_help=True, help="Plans of sessions: show, branch, compare, and what agents were told.")


@app.command()
def show(
    session: Session,
    turn: Annotated[
        int | None, typer.Option("--turn", min=0, help="As it was after that turn; 0: before the first.")
    ] = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Shows objective, steps and progress."""
    from services.cli import plans
    from services.cli.running import run

    run(plans.show(url, session, turn, as_json), as_json=as_json)


@app.command()
def told(
    session: Session,
    turn: Annotated[int, typer.Option("--turn", min=0, help="In that turn; 0: in the newest one.")] = 0,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Shows what the session's agent was told of objective and plan at the start of a turn."""
    from services.cli import plans
    from services.cli.running import run

    run(plans.told(url, session, turn, as_json), as_json=as_json)


@app.command()
def branch(
    session: Session,
    turn: Annotated[int, typer.Argument(min=0, help="The turn to go on from; 0: from before the first.")],
    title: Annotated[str, typer.Option("--title", help="One line; else the origin's.")] = "",
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Makes a new session that goes on from a turn, with everything as it was then, and prints its id."""
    from services.cli import plans
    from services.cli.running import run

    run(plans.branch(url, session, turn, title, as_json), as_json=as_json)


@app.command()
def diff(
    session: Session,
    other: Annotated[str, typer.Argument(metavar="OTHER", help="The session that is compared with.")],
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Shows what the other session's plan has that this one has not."""
    from services.cli import plans
    from services.cli.running import run

    run(plans.diff(url, session, other, as_json), as_json=as_json)
