"""Which databases are verified: those that were named, else all of the home, as it runs or started just for this."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from services.engines import HomeInUse, engines, resolve_home
from services.engines.databases import ROLE
from services.engines.ports import LOOPBACK, load_last

SERVICES: Final = ("threads", "coordination", "planning", "streaming")


@asynccontextmanager
async def sources(named: Mapping[str, str], home: str | None) -> AsyncIterator[Mapping[str, str]]:
    """Service to database URL. Raises what the engines raise."""
    if named:
        yield named
        return
    try:
        async with engines(home) as started:
            yield {name: started.database_url(name) for name in SERVICES}
    except HomeInUse:
        yield {name: _running(resolve_home(home), name) for name in SERVICES}


def _running(home: Path, name: str) -> str:
    """The running home's database over loopback; its password is a file that only its owner can read."""
    port = load_last(home / "ports.json")["postgres"]
    password = (home / "secrets" / "postgres").read_text()
    return f"postgresql://{ROLE}:{password}@{LOOPBACK}:{port}/{name}"
