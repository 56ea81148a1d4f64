"""The commands `sessions new`, `list`, `prompt`, `steer`, `abort` and `resume`."""

from __future__ import annotations

from typing import Any

from services.cli import output
from services.cli.client import Client, Json
from services.cli.exits import Exit
from services.cli.finding import session_id
from services.cli.plain import one_line, plain
from services.cli.tailing import follow_turn


async def new(url: str | None, wanted: dict[str, str], as_json: bool) -> Exit:
    """The id alone on standard output, so that a script can take it."""
    async with Client(url) as client:
        session = await client.post("/api/sessions", {key: value for key, value in wanted.items() if value})
    if as_json:
        output.as_json(session)
    else:
        output.console().print(plain(session["id"]))
    return Exit.OK


async def listing(url: str | None, limit: int, as_json: bool) -> Exit:
    """A table."""
    async with Client(url) as client:
        sessions = [session async for session in client.pages("/api/sessions", "sessions", limit)]
    if as_json:
        output.as_json({"sessions": sessions})
        return Exit.OK
    rows = [
        (
            plain(session["id"][-8:]),
            plain(_state(session)),
            plain(session["adapter"]),
            plain(output.age(session["update_time"])),
            one_line(session["title"] or "-"),
        )
        for session in sessions
    ]
    columns = ("id", "state", "adapter", "changed", "title")
    output.console().print(output.table(columns, rows, flexible=("title",)))
    return Exit.OK


async def prompt(url: str | None, given: str, text: str, follow: bool, as_json: bool) -> Exit:
    """Starts a turn; with `follow`, to its end."""
    async with Client(url) as client:
        session = await session_id(client, given)
        if not follow:
            answer = await client.post(f"/api/sessions/{session}/prompt", {"text": text})
            _tell(answer["session"], as_json, answer)
            return Exit.OK

        async def start() -> str:
            answer = await client.post(f"/api/sessions/{session}/prompt", {"text": text})
            return str(answer["turn_id"])

        return await follow_turn(client, session, start, as_json)


async def act(url: str | None, given: str, verb: str, body: dict[str, Any], as_json: bool) -> Exit:
    """One of steer, abort, resume."""
    async with Client(url) as client:
        session = await session_id(client, given)
        answer = await client.post(f"/api/sessions/{session}/{verb}", body)
    if answer.get("preserved") and not as_json:
        output.console().print("a turn is under way: the session was left as it is", style="dim")
    _tell(answer.get("session", answer), as_json, answer)
    return Exit.OK


def _tell(session: Json, as_json: bool, answer: Json | None = None) -> None:
    if as_json:
        output.as_json(answer or session)
    else:
        output.console().print(plain(f"{session.get('id', '')} is {_state(session)}"))


def _state(session: Json) -> str:
    state = str(session.get("state", ""))
    return f"{state} ({session['code']})" if session.get("code") else state
