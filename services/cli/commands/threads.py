"""`treadle threads …`: look at matters, decide on them, watch them."""

from __future__ import annotations

from typing import Annotated

import typer

from services.cli.commands.options import AsJson, Limit, Thread, Url, Yes

app = typer.Typer(no_args_is_help=True, help="Matters of work: look, decide, watch.")


@app.command("list")
def listing(
    state: Annotated[list[str] | None, typer.Option("--state", "-s", help="Only this state; may be repeated.")] = None,
    parent: Annotated[str | None, typer.Option("--parent", help="Only the children of this thread.")] = None,
    limit: Limit = 50,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Lists threads, newest first."""
    from services.cli import reading
    from services.cli.running import run

    run(reading.listing(url, state or [], parent, limit, as_json), as_json=as_json)


@app.command()
def show(
    thread: Thread,
    events: Annotated[bool, typer.Option("--events", "-e", help="With its log.")] = False,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Shows one thread: what it is, what is proposed, what is asked."""
    from services.cli import reading
    from services.cli.running import run

    run(reading.show(url, thread, events, as_json), as_json=as_json)


@app.command()
def why(thread: Thread, url: Url = None, as_json: AsJson = False) -> None:
    """Says what a thread waits for, on whom, since when, and what would move it."""
    from services.cli import reading
    from services.cli.running import run

    run(reading.why(url, thread, as_json), as_json=as_json)


@app.command()
def new(
    title: Annotated[str, typer.Argument(help="One line.")],
    description: Annotated[str, typer.Option("--description", "-d", help="More about it.")] = "",
    autonomy: Annotated[
        str | None, typer.Option(help="end_to_end, plan_then_review, hands_off, or a policy as JSON.")
    ] = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Opens a thread."""
    from services.cli import deciding
    from services.cli.running import run

    run(deciding.new(url, title, description, autonomy, as_json), as_json=as_json)


@app.command()
def approve(
    thread: Thread,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Another value for a parameter; JSON where it is JSON."),
    ] = None,
    proposal: Annotated[str | None, typer.Option("--proposal-id", help="Only if this proposal stands.")] = None,
    digest: Annotated[str | None, typer.Option("--proposal-digest", help="Only if it has this digest.")] = None,
    yes: Yes = False,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Approves what is proposed. At a terminal it is shown first; if another proposal stands by then, it is refused."""
    from services.cli import deciding
    from services.cli.running import run

    run(deciding.approve(url, thread, proposal, digest, changes or [], yes, as_json), as_json=as_json)


@app.command()
def redirect(
    thread: Thread,
    feedback: Annotated[str, typer.Argument(help="What should be different.")],
    params: Annotated[
        list[str] | None,
        typer.Option("--param", metavar="NAME=VALUE", help="A parameter to keep in the next proposal."),
    ] = None,
    action: Annotated[str | None, typer.Option("--action", help="The action to propose instead.")] = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Sends the proposal back with feedback; another one is inferred."""
    from services.cli import deciding
    from services.cli.running import run

    run(deciding.redirect(url, thread, feedback, params or [], action, as_json), as_json=as_json)


@app.command()
def dismiss(
    thread: Thread,
    reason: Annotated[str, typer.Option("--reason", "-r", help="Why.")] = "",
    yes: Yes = False,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Closes a thread without doing anything."""
    from services.cli import deciding
    from services.cli.running import run

    run(deciding.dismiss(url, thread, reason, yes, as_json), as_json=as_json)


@app.command()
def answer(
    thread: Thread,
    text: Annotated[str, typer.Argument(help="The answer.")],
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Answers what a thread asks."""
    from services.cli import deciding
    from services.cli.running import run

    run(deciding.answer(url, thread, text, as_json), as_json=as_json)


@app.command()
def watch(
    thread: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="A thread with its family. [default: everything, from now on]")
    ] = None,
    until: Annotated[str | None, typer.Option("--until", help="End when the thread is in this state.")] = None,
    since: Annotated[str, typer.Option("--since", help="Go on after this event id.")] = "",
    everything: Annotated[bool, typer.Option("--all", help="With all that is stored, not only from now on.")] = False,
    timeout: Annotated[float | None, typer.Option("--timeout", min=0.1, help="Seconds; then exit code 4.")] = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Follows what happens, live. It comes back by itself after a disconnect, where it was.

    With --until: 0 when the state is reached, 1 when the thread has ended in another one.
    """
    from services.cli.running import run
    from services.cli.watching import watch as follow

    run(follow(url, thread, until, since, everything, timeout, as_json), as_json=as_json)
