"""The commands of `documents`: the texts that a session's agent and people work on."""

from __future__ import annotations

import sys
from urllib.parse import quote

import typer

from services.cli import output
from services.cli.client import Client
from services.cli.exits import CommandFailed, Exit
from services.cli.finding import session_id
from services.cli.plain import plain


async def listing(url: str | None, given: str, as_json: bool) -> Exit:
    """Keys in order, with their sizes in bytes and who may write them."""
    async with Client(url) as client:
        found = await client.get(f"/api/sessions/{await session_id(client, given)}/documents")
    if as_json:
        output.as_json(found)
        return Exit.OK
    documents = found.get("documents", [])
    rows = [
        (plain(one["key"]), str(one["size"]), "locked" if one["locked"] else "", one["updated_by"]) for one in documents
    ]
    out = output.console()
    if rows:
        out.print(output.table(("key", "bytes", "lock", "by"), rows, flexible=("key",)))
    else:
        out.print("no documents", style="dim")
    return Exit.OK


async def show(url: str | None, given: str, key: str, as_json: bool) -> Exit:
    """The content alone."""
    async with Client(url) as client:
        found = await client.get(_path(await session_id(client, given), key))
    if as_json:
        output.as_json(found)
    else:
        output.console().print(plain(found.get("content", "")), soft_wrap=True)
    return Exit.OK


async def delete(url: str | None, given: str, key: str, yes: bool, as_json: bool) -> Exit:
    """What is deleted is the document that was there when the question was asked."""
    async with Client(url) as client:
        path = _path(await session_id(client, given), key)
        seen = await client.get(path)
        if not yes and not as_json and sys.stdin.isatty():
            locked = ", which is locked against agents" if seen["locked"] else ""
            if not typer.confirm(f"Delete {key} ({seen['size']} bytes{locked})? Turns that had it keep it"):
                raise CommandFailed(Exit.REFUSED, "nothing was deleted")
        done = await client.delete(path, etag=seen["etag"])
    if as_json:
        output.as_json(done)
    return Exit.OK


def _path(session: str, key: str) -> str:
    return f"/api/sessions/{session}/documents/{quote(key, safe='')}"
