"""The commands of `plan`: what a session is for, its steps, what its agent was told, what its branches have apart."""

from __future__ import annotations

import asyncio
import time
from typing import Final

from rich.text import Text

from services.cli import output
from services.cli.client import Client, Json
from services.cli.exits import CommandFailed, Exit
from services.cli.finding import session_id
from services.cli.plain import one_line, plain

_READY_SECONDS: Final = 30.0
_LOOK_SECONDS: Final = 0.1


async def show(url: str | None, given: str, turn: int | None, as_json: bool) -> Exit:
    """Objective and tree, as they are or as going on from a turn begins with them."""
    async with Client(url) as client:
        path = f"/api/sessions/{await session_id(client, given)}"
        if turn is None:
            objective, plan = await client.get(f"{path}/objective"), await client.get(f"{path}/plan")
            shown: Json = {"objective": objective["text"], "plan": plan}
        else:
            shown = await client.get(f"{path}/turns/{turn}/workspace")
            plan = shown.get("plan") or {"steps": [], "leaves": 0, "done_leaves": 0}
    if as_json:
        output.as_json(shown)
        return Exit.OK
    out = output.console()
    out.print(plain(shown["objective"] or "no objective"), style="bold" if shown["objective"] else "dim")
    for step in plan["steps"]:
        out.print(_step(step), soft_wrap=True)
    out.print(f"{plan['done_leaves']} of {plan['leaves']} done" if plan["leaves"] else "no steps", style="dim")
    return Exit.OK


async def told(url: str | None, given: str, turn: int, as_json: bool) -> Exit:
    """The words, then turn, plan version and SHA-256. 3 when nothing was told."""
    async with Client(url) as client:
        session = await session_id(client, given)
        found = await client.get(f"/api/sessions/{session}/plan/context", turn=turn or None)
    if as_json:
        output.as_json(found)
        return Exit.OK
    out = output.console()
    out.print(plain(found["text"].rstrip("\n")), soft_wrap=True)
    out.print(f"turn {found['turn']}, plan version {found['version']}, SHA-256 {found['sha256']}", style="dim")
    return Exit.OK


async def branch(url: str | None, given: str, turn: int, title: str, as_json: bool) -> Exit:
    """The branch's session alone on standard output, once it is ready. 1 when it cannot be made."""
    async with Client(url) as client:
        session = await session_id(client, given)
        body: Json = {"turn": turn, "fork": True, **({"title": title} if title else {})}
        made = await client.post(f"/api/sessions/{session}/branches", body)
        give_up_at = time.monotonic() + _READY_SECONDS
        while made["state"] == "forking":
            if time.monotonic() > give_up_at:
                raise CommandFailed(Exit.UNAVAILABLE, f"{made['session_id']} is still being made: look again later")
            await asyncio.sleep(_LOOK_SECONDS)
            made = await client.get(f"/api/sessions/{made['session_id']}/branch")
    if made["state"] == "failed":
        raise CommandFailed(Exit.REFUSED, f"the branch was not made ({made.get('reason') or 'no reason given'})", made)
    if as_json:
        output.as_json(made)
    else:
        output.console().print(plain(made["session_id"]))
    return Exit.OK


async def diff(url: str | None, given: str, other: str, as_json: bool) -> Exit:
    """What the other session's plan has that this one has not; 0 whether there is any or not."""
    async with Client(url) as client:
        session, there = await session_id(client, given), await session_id(client, other)
        found = await client.get(f"/api/sessions/{session}/diff/{there}")
    if as_json:
        output.as_json(found)
        return Exit.OK
    out = output.console()
    if found["objective_changed"]:
        out.print(plain(f"objective: {found['objective'] or 'none'} → {found['other_objective'] or 'none'}"))
    rows = [
        (", ".join(change["kinds"]), _number(change), _words(change), plain(change["origin_id"][-8:]))
        for change in found["changes"]
    ]
    if rows:
        out.print(output.table(("there", "step", "text", "origin"), rows, flexible=("text",)))
    elif not found["objective_changed"]:
        out.print("no difference", style="dim")
    return Exit.OK


def _step(step: Json) -> Text:
    level = str(step["number"]).count(".")
    mark = ("[x] " if step["done"] else "[ ] ") if step["leaf"] else "    "
    return Text("  " * level + mark + f"{step['number']} ").append_text(plain(step["text"]))


def _number(change: Json) -> str:
    before, after = (change.get(side) or {} for side in ("before", "after"))
    if "moved" in change["kinds"]:
        return f"{before.get('number', '')} → {after.get('number', '')}"
    return str(after.get("number") or before.get("number", ""))


def _words(change: Json) -> Text:
    before, after = (change.get(side) or {} for side in ("before", "after"))
    done = " (done there)" if after.get("done") and "toggled" in change["kinds"] else ""
    if "edited" in change["kinds"]:
        return one_line(f"{before.get('text', '')} → {after.get('text', '')}{done}")
    return one_line(f"{after.get('text') or before.get('text', '')}{done}")
