"""`treadle documents …`: the texts that a session's agent and people work on."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

from services.cli.commands.options import AsJson, Url, Yes
from services.cli.commands.sessions import Session

app = typer.Typer(no_args_is_help=True, help="Documents of sessions: list, read, delete.")
Key: TypeAlias = Annotated[str, typer.Argument(metavar="KEY", help="The document's key, as lists show it.")]


@app.command("list")
def listing(session: Session, url: Url = None, as_json: AsJson = False) -> None:
    """Lists the documents."""
    from services.cli import documents
    from services.cli.running import run

    run(documents.listing(url, session, as_json), as_json=as_json)


@app.command()
def show(session: Session, key: Key, url: Url = None, as_json: AsJson = False) -> None:
    """Prints a document."""
    from services.cli import documents
    from services.cli.running import run

    run(documents.show(url, session, key, as_json), as_json=as_json)


@app.command()
def delete(session: Session, key: Key, yes: Yes = False, url: Url = None, as_json: AsJson = False) -> None:
    """Deletes a document. Turns that had it keep it: a branch from one of them has it again."""
    from services.cli import documents
    from services.cli.running import run

    run(documents.delete(url, session, key, yes, as_json), as_json=as_json)
