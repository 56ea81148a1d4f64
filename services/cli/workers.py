"""The commands `workers list`, `spawn`, `collect`, `note`, `notes` and `cancel`, and `sessions mode`."""

from __future__ import annotations

import sys
from typing import Any
from urllib.parse import quote

from rich.console import Console
from rich.text import Text

from services.cli import output
from services.cli.client import Client, Json
from services.cli.exits import CommandFailed, Exit
from services.cli.finding import session_id
from services.cli.plain import one_line, plain

ENDED = frozenset({"succeeded", "failed", "cancelled", "interrupted"})


async def listing(url: str | None, given: str, as_json: bool) -> Exit:
    """A table, oldest first."""
    async with Client(url) as client:
        session = await session_id(client, given)
        workers = [worker async for worker in client.pages(f"/api/sessions/{session}/workers", "threads")]
    if as_json:
        output.as_json({"threads": workers})
    else:
        output.console().print(table(workers))
    return Exit.OK


async def spawn(url: str | None, given: str, specs: list[Json], as_json: bool) -> Exit:
    """Each item is answered for itself, in order. 0 when all are spawned, 1 when one is refused."""
    async with Client(url) as client:
        session = await session_id(client, given)
        answer = await client.post(f"/api/sessions/{session}/workers", {"threads": specs})
    items = answer.get("threads", [])
    if as_json:
        output.as_json(answer)
    else:
        rows = [
            (plain(item["name"]), "spawned" if item["ok"] else plain(item["code"]), one_line(item.get("error") or ""))
            for item in items
        ]
        output.console().print(output.table(("name", "", "why not"), rows, flexible=("why not",)))
    return Exit.OK if all(item["ok"] for item in items) else Exit.REFUSED


async def collect(url: str | None, given: str, name: str, version: int, full_text: bool, as_json: bool) -> Exit:
    """The whole text on standard output, every page of it; how it stands on standard error. 1 when there is none."""
    async with Client(url) as client:
        session = await session_id(client, given)
        path = _path(session, name, "collect")
        body: Json = {"version": version, "full_text": full_text}
        answer = await client.post(path, body)
        pages = [answer.get("result", "")]
        while token := answer.get("next_page_token"):
            # Of the same version: a newer report must not be mixed in.
            body = {**body, "version": answer["version"], "page_token": token}
            answer = await client.post(path, body)
            pages.append(answer.get("result", ""))
    if as_json:
        output.as_json({**answer, "result": "".join(pages), "next_page_token": ""})
    else:
        told = Console(stderr=True, soft_wrap=True, highlight=False)
        told.print(plain(_standing(name, answer)), style="dim")
        if not answer["collected"] and answer.get("hint"):
            told.print(plain(answer["hint"]))
        if answer["collected"]:
            # To the letter on a pipe; on a terminal nothing in it takes effect.
            text = "".join(pages)
            sys.stdout.write((plain(text).plain if sys.stdout.isatty() else text).rstrip("\n") + "\n")
    return Exit.OK if answer["collected"] else Exit.REFUSED


async def note(url: str | None, given: str, text: str, worker: str, as_json: bool) -> Exit:
    """Says which note had to go for it, where one had."""
    async with Client(url) as client:
        session = await session_id(client, given)
        body = {"note": text, **({"thread_name": worker} if worker else {})}
        answer = await client.post(f"/api/sessions/{session}/notes", body)
    if as_json:
        output.as_json(answer)
        return Exit.OK
    output.console().print(f"noted; {answer['note_count']} of at most 50")
    if gone := answer.get("evicted_note"):
        output.console().print(Text("the oldest was dropped: ").append_text(one_line(gone["text"])), style="yellow")
    return Exit.OK


async def notes(url: str | None, given: str, worker: str, as_json: bool) -> Exit:
    """Notes of a list, oldest first."""
    async with Client(url) as client:
        session = await session_id(client, given)
        path = f"/api/sessions/{session}/notes"
        found = [entry async for entry in client.pages(path, "notes", None, thread_name=worker)]
    if as_json:
        output.as_json({"notes": found})
        return Exit.OK
    rows = [(output.age(entry["create_time"]), plain(entry["by"]), one_line(entry["text"])) for entry in found]
    output.console().print(output.table(("age", "by", "note"), rows, flexible=("note",)))
    return Exit.OK


async def cancel(url: str | None, given: str, name: str, reason: str, as_json: bool) -> Exit:
    """One that works is asked to stop, and ends later."""
    async with Client(url) as client:
        session = await session_id(client, given)
        answer = await client.post(_path(session, name, "cancel"), {"reason": reason} if reason else {})
    worker = answer["thread"]
    if as_json:
        output.as_json(answer)
    elif worker["status"] in ENDED:
        output.console().print(plain(f"{name} is {worker['status']}"))
    else:
        output.console().print(plain(f"{name} was asked to stop; `treadle workers wait` says when it has"))
    return Exit.OK


async def mode(url: str | None, given: str, enabled: bool, policy: Json, as_json: bool) -> Exit:
    """Thread mode of a session, and what its workers may cost."""
    async with Client(url) as client:
        session = await session_id(client, given)
        body = {"session_id": session, "enabled": enabled, **({"policy": policy} if policy else {})}
        answer = await client.post("/api/coordination/flag", body)
    if as_json:
        output.as_json(answer)
    else:
        output.console().print(f"thread mode is {'on' if answer['enabled'] else 'off'}")
    return Exit.OK


def spec(given: str, common: Json) -> Json:
    """`NAME=BRIEF` as an item of a spawn."""
    name, equals, brief = given.partition("=")
    if not equals:
        raise CommandFailed(Exit.USAGE, f"{given!r} is no worker: write NAME=BRIEF")
    return {"name": name.strip(), "brief": brief.strip(), **common}


def table(workers: list[Json]) -> Any:
    """Where each stands."""
    rows = [
        (
            plain(worker["name"]),
            plain(status(worker)),
            _result(worker),
            plain(output.age(worker.get("end_time") or worker.get("start_time") or worker.get("create_time"))),
            plain(_session(worker)[-8:] or "-"),
            one_line(worker["brief"]),
        )
        for worker in workers
    ]
    columns = ("name", "status", "result", "since", "session", "brief")
    return output.table(columns, rows, flexible=("brief",))


def status(worker: Json) -> str:
    """`failed (timeout)`, `running, waits for a person`, `succeeded, late`."""
    reason = worker.get("reason") or ""
    told = str(worker["status"]) + (f" ({reason})" if reason not in ("", "completed", worker["status"]) else "")
    over = worker["status"] in ENDED
    marks = [
        "waits for a person" if worker.get("waiting") and not over else "",
        "stopping" if worker.get("cancel_requested") and not over else "",
        "late" if worker.get("late") else "",
    ]
    return ", ".join([told, *filter(None, marks)])


def _result(worker: Json) -> str:
    if not worker.get("has_result"):
        return "-"
    kind = "partial" if worker.get("partial") else "whole"
    return f"{kind if worker['status'] in ENDED else 'interim'}, {worker['result_length']}"


def _standing(name: str, answer: Json) -> str:
    told = status({"status": answer["status"], "reason": answer.get("reason")})
    if not answer["collected"]:
        return f"{name} is {told}: there is nothing to collect"
    report = "final" if answer.get("final") else "last" if answer["status"] in ENDED else "interim"
    parts = [f"{name} is {told}", f"{report} report, version {answer['version']}"]
    return "; ".join([*parts, *(["partial"] if answer.get("partial") else [])])


def _session(worker: Json) -> str:
    ids = worker.get("ids") or {}
    return str(ids.get("subagent_session_id") or ids.get("worker_session_id") or "")


def _path(session: str, name: str, verb: str) -> str:
    return f"/api/sessions/{session}/workers/{quote(name, safe='')}/{verb}"
