"""`treadle sessions …`: open a conversation with an agent, prompt it, follow it live."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, TypeAlias

import typer

from services.cli.commands.options import AsJson, Limit, Url

app = typer.Typer(no_args_is_help=True, help="Conversations with agents: open, prompt, follow.")

Session: TypeAlias = Annotated[
    str, typer.Argument(metavar="ID", help="A session: its whole id, or the last digits that lists show.")
]
Follow: TypeAlias = Annotated[bool, typer.Option("--follow", "-f", help="Follow the turn to its end.")]


@app.command()
def new(
    title: Annotated[str, typer.Argument(help="One line.")] = "",
    adapter: Annotated[str, typer.Option("--adapter", help="scripted, openai or pi.")] = "scripted",
    provider: Annotated[str, typer.Option("--provider", help="The model's provider.")] = "",
    model: Annotated[str, typer.Option("--model", help="The model.")] = "",
    thinking: Annotated[str, typer.Option("--thinking", help="off, minimal, low, medium, high or xhigh.")] = "medium",
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Opens a session and prints its id."""
    from services.cli import conversing
    from services.cli.running import run

    wanted = {"title": title, "adapter": adapter, "provider": provider, "model": model, "thinking": thinking}
    run(conversing.new(url, wanted, as_json), as_json=as_json)


@app.command("list")
def listing(limit: Limit = 20, url: Url = None, as_json: AsJson = False) -> None:
    """Lists sessions, newest first."""
    from services.cli import conversing
    from services.cli.running import run

    run(conversing.listing(url, limit, as_json), as_json=as_json)


@app.command()
def prompt(
    session: Session,
    text: Annotated[str, typer.Argument(help="What the agent is told.")],
    follow: Follow = False,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Starts a turn. With --follow: 0 when it ends well, 1 when it fails."""
    from services.cli import conversing
    from services.cli.running import run

    run(conversing.prompt(url, session, text, follow, as_json), as_json=as_json)


@app.command()
def steer(
    session: Session,
    text: Annotated[str, typer.Argument(help="What the agent is told while it works.")],
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Says something to an agent that works; open gates are cancelled first."""
    from services.cli import conversing
    from services.cli.running import run

    run(conversing.act(url, session, "steer", {"text": text}, as_json), as_json=as_json)


@app.command()
def abort(session: Session, url: Url = None, as_json: AsJson = False) -> None:
    """Ends the turn."""
    from services.cli import conversing
    from services.cli.running import run

    run(conversing.act(url, session, "abort", {}, as_json), as_json=as_json)


@app.command()
def resume(session: Session, url: Url = None, as_json: AsJson = False) -> None:
    """Starts the agent again; a turn under way is left as it is."""
    from services.cli import conversing
    from services.cli.running import run

    run(conversing.act(url, session, "resume", {}, as_json), as_json=as_json)


class Switch(StrEnum):
    """On or off."""

    ON = "on"
    OFF = "off"


@app.command()
def mode(
    session: Session,
    switch: Annotated[Switch, typer.Argument(metavar="on|off", help="Whether its agent may start workers.")],
    auto_wake: Annotated[
        bool | None, typer.Option("--auto-wake/--no-auto-wake", help="A late result starts a new turn.")
    ] = None,
    seconds: Annotated[
        int | None, typer.Option("--budget-seconds", min=0, help="Of all its workers together; 0: no limit.")
    ] = None,
    tokens: Annotated[
        int | None, typer.Option("--budget-tokens", min=0, help="Of all its workers together; 0: no limit.")
    ] = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Turns thread mode on or off, and sets what its workers may cost; what is not given stays."""
    from services.cli import workers
    from services.cli.running import run

    given = {"auto_wake": auto_wake, "budget_seconds": seconds, "budget_tokens": tokens}
    policy = {name: value for name, value in given.items() if value is not None}
    run(workers.mode(url, session, switch is Switch.ON, policy, as_json), as_json=as_json)


@app.command()
def tail(
    session: Session,
    since: Annotated[str, typer.Option("--since", help="Go on after this event id.")] = "",
    until_settled: Annotated[
        bool, typer.Option("--until-settled", help="End when no turn is under way any more.")
    ] = False,
    timeout: Annotated[float | None, typer.Option("--timeout", min=0.1, help="Seconds; then exit code 4.")] = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Follows a session, live: what is stored first. It comes back by itself after a disconnect, where it was.

    When it ends it says on standard error how to go on: `--since` and the last event's id.
    """
    from services.cli.running import run
    from services.cli.tailing import tail as follow

    run(follow(url, session, since, until_settled, timeout, as_json), as_json=as_json)
