"""`treadle verify`: every invariant that a database can tell about its threads. Reads only; safe while all runs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from services.engines import HomeInUse, engines, resolve_home
from services.engines.databases import ROLE
from services.engines.ports import LOOPBACK, load_last
from services.kernel.postgres import Database
from services.threads.adapters.stored import all_stored, count_threads
from services.threads.application.verifying import CHECKS, faults
from services.threads.domain.thread import Thread

_SHOWN: Final = 100
"""Faults that are printed; all are counted, and --json has all."""


@dataclass(frozen=True)
class Verdict:
    """What was looked at and what was wrong."""

    threads: int
    events: int
    families: int
    tenants: int
    faults: tuple[str, ...]


async def verify(database_url: str | None, home: str | None, *, progress: bool) -> Verdict:
    """Looks at every thread of every tenant. Raises what the database or the engines raise."""
    async with _url(database_url, home) as url:
        database = await Database.open(url, "verify", max_size=2)
        try:
            return await _verdict(database, progress=progress)
        finally:
            await database.close()


def lines(verdict: Verdict) -> list[str]:
    """For people: what was checked, then each fault."""
    looked = (
        f"{verdict.threads} threads, {verdict.events} events, {verdict.families} families, {verdict.tenants} tenants"
    )
    if not verdict.faults:
        return [f"Looked at {looked}.", *(f"  ok  {check}" for check in CHECKS)]
    shown = [f"  {fault}" for fault in verdict.faults[:_SHOWN]]
    more = len(verdict.faults) - len(shown)
    rest = [f"  and {more} more"] if more else []
    return [f"Looked at {looked}: {len(verdict.faults)} faults.", *shown, *rest]


async def _verdict(database: Database, *, progress: bool) -> Verdict:
    found: list[str] = []
    tenants: set[str] = set()
    threads = events = families = 0
    total = await count_threads(database)
    columns = (TextColumn("Threads"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not progress) as bar:
        task = bar.add_task("threads", total=total)
        async for stored in all_stored(database):
            thread: Thread = stored.thread
            found += faults(stored)
            tenants.add(stored.tenant)
            threads, events, families = threads + 1, events + len(stored.events), families + bool(thread.children)
            bar.advance(task)
    return Verdict(threads, events, families, len(tenants), tuple(found))


@asynccontextmanager
async def _url(given: str | None, home: str | None) -> AsyncIterator[str]:
    """The database that was named, else the one of the home: as it runs, or started just for this."""
    if given is not None:
        yield given
        return
    try:
        async with engines(home) as started:
            yield started.database_url("threads")
    except HomeInUse:
        yield _running(resolve_home(home))


def _running(home: Path) -> str:
    """The running home's database over loopback; its password is a file that only its owner can read."""
    port = load_last(home / "ports.json")["postgres"]
    password = (home / "secrets" / "postgres").read_text()
    return f"postgresql://{ROLE}:{password}@{LOOPBACK}:{port}/threads"
