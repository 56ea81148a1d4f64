"""Two readers of Server-Sent Events: one by the letter of the standard, one that splits lines as Python does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass
class Event:
    """One dispatched event."""

    id: str
    name: str
    data: str


@dataclass
class Parsed:
    """What a stream's bytes mean to a reader."""

    events: list[Event] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)
    retries: list[str] = field(default_factory=list)


def strict(text: bytes) -> Parsed:
    """The algorithm of the HTML standard: lines end in CR LF, LF or CR, nothing else."""
    decoded = text.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    return _dispatch(decoded.split("\n"))


def naive(text: bytes) -> Parsed:
    """A reader that uses str.splitlines, which also cuts at U+2028, U+2029, U+0085, VT and FF."""
    return _dispatch(text.decode("utf-8").splitlines())


def _dispatch(lines: list[str]) -> Parsed:
    parsed, last_id, name, data = Parsed(), "", "", []  # type: ignore[var-annotated]
    for line in lines:
        if not line:
            if data:
                parsed.events.append(Event(last_id, name, "\n".join(data)))
            name, data = "", []
            continue
        key, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if not key:
            parsed.comments.append(value)
        elif key == "id" and "\0" not in value:
            last_id = value
        elif key == "event":
            name = value
        elif key == "data":
            data.append(value)
        elif key == "retry":
            parsed.retries.append(value)
    return parsed


class Connection:
    """One open stream over a plain socket, so that a test decides when it reads."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self.writer = writer
        self.status = 0
        self.headers: dict[str, str] = {}
        self.body = b""
        self.ended = False

    async def begin(self) -> None:
        """Reads the answer's head."""
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        self.status = int(head[0].split()[1])
        pairs = (line.split(": ", 1) for line in head[1:] if line)
        self.headers = {name.lower(): value for name, value in pairs}

    async def more(self) -> None:
        """Reads one chunk more."""
        try:
            size = int(await self._reader.readuntil(b"\r\n"), 16)
            self.body += (await self._reader.readexactly(size + 2))[:-2]
            self.ended = size == 0
        except (asyncio.IncompleteReadError, ConnectionError):
            self.ended = True

    async def until_events(self, count: int, seconds: float = 20) -> list[Event]:
        """Reads until so many events have come."""
        async with asyncio.timeout(seconds):
            while len(events := strict(self.body).events) < count:
                assert not self.ended, f"ended after {len(events)} events: {self.body[-300:]!r}"
                await self.more()
        return events

    async def until_text(self, text: bytes, seconds: float = 20) -> None:
        """Reads until the text has come."""
        async with asyncio.timeout(seconds):
            while text not in self.body:
                assert not self.ended, self.body[-300:]
                await self.more()

    async def until_end(self, seconds: float = 20) -> None:
        """Reads until the server ends it."""
        async with asyncio.timeout(seconds):
            while not self.ended:
                await self.more()

    def drop(self) -> None:
        """Resets the connection."""
        self.writer.transport.abort()


async def dial(port: int, path: str, headers: dict[str, str] | None = None, **options: int) -> Connection:
    """Sends the request; the answer is not read yet."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, **options)
    lines = [f"GET {path} HTTP/1.1", "host: localhost", *(f"{key}: {value}" for key, value in (headers or {}).items())]
    writer.write("\r\n".join([*lines, "", ""]).encode("utf-8"))
    return Connection(reader, writer)


@asynccontextmanager
async def stream(port: int, path: str, headers: dict[str, str] | None = None) -> AsyncIterator[Connection]:
    """An open stream; its head is read."""
    connection = await dial(port, path, headers)
    try:
        await connection.begin()
        yield connection
    finally:
        connection.drop()
