"""An OpenAI-compatible chat endpoint over real HTTP: streams what a test says, or breaks as it says."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import orjson

Chunk = dict[str, Any]


def piece(content: str | None = None, finish: str | None = None, **delta: Any) -> Chunk:
    """One chunk of a stream."""
    body = {**({"content": content} if content is not None else {}), **delta}
    choice = {"index": 0, "delta": body, "finish_reason": finish}
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}


def counted(read: int, written: int) -> Chunk:
    """The last chunk, which counts tokens and says nothing."""
    usage = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [], "usage": usage}


def calling(*calls: tuple[str, str, str]) -> list[Chunk]:
    """The chunks of an answer that calls tools: (id, name, arguments), the arguments in two pieces."""
    chunks = []
    for index, (call_id, name, arguments) in enumerate(calls):
        half = len(arguments) // 2
        first = {"index": index, "id": call_id, "type": "function", "function": {"name": name, "arguments": ""}}
        chunks.append(piece(tool_calls=[first]))
        for part in (arguments[:half], arguments[half:]):
            chunks.append(piece(tool_calls=[{"index": index, "function": {"arguments": part}}]))
    return [*chunks, piece(finish="tool_calls")]


def written(chunk: Chunk) -> bytes:
    """As JSON, halves of surrogate pairs as escapes, which is how an endpoint can send them at all."""
    return json.dumps(chunk).encode()


@dataclass
class Reply:
    """`status` other than 200 answers an error, `error` is its body; `cut` breaks the connection after the chunks;
    `hang` says no more. `raw` is sent as it is, instead of chunks."""

    chunks: list[Chunk] = field(default_factory=list)
    status: int = 200
    cut: bool = False
    hang: bool = False
    done: bool = True
    error: dict[str, Any] = field(default_factory=lambda: {"message": "SECRET detail", "type": "x", "code": "y"})
    retry_after: str = "retry-after-ms: 1"
    raw: bytes | None = None


@dataclass
class ChatEndpoint:
    """Each request takes the next reply; `asked` are the bodies, `keys` the authorizations."""

    replies: deque[Reply] = field(default_factory=deque)
    asked: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    url: str = ""
    hung: asyncio.Event = field(default_factory=asyncio.Event)
    closed: asyncio.Event = field(default_factory=asyncio.Event)

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in head[1:] if ": " in line)
        self.asked.append(orjson.loads(await reader.readexactly(int(headers["content-length"]))))
        self.keys.append(headers.get("authorization", ""))
        reply = self.replies.popleft()
        if reply.status != 200:
            body = orjson.dumps({"error": reply.error})
            writer.write(b"HTTP/1.1 %d X\r\ncontent-type: application/json\r\n" % reply.status)
            writer.write(reply.retry_after.encode() + b"\r\ncontent-length: %d\r\n\r\n" % len(body) + body)
            await writer.drain()
            return True
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        lines = [written(chunk) for chunk in reply.chunks] + ([b"[DONE]"] if reply.done else [])
        lines = lines if not (reply.cut or reply.hang) else lines[: len(reply.chunks)]
        for data in [b"data: " + line + b"\n\n" for line in lines] if reply.raw is None else [reply.raw]:
            writer.write(b"%x\r\n" % len(data) + data + b"\r\n")
            await writer.drain()
        if reply.cut:
            return False
        if reply.hang:
            self.hung.set()
            await reader.read(1)
            self.closed.set()
            return False
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True


@asynccontextmanager
async def chatting(*replies: Reply) -> AsyncIterator[ChatEndpoint]:
    """A running endpoint on loopback."""
    endpoint = ChatEndpoint(deque(replies))
    server = await asyncio.start_server(endpoint.handle, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    endpoint.url = f"http://{host}:{port}/v1"
    async with server:
        yield endpoint
