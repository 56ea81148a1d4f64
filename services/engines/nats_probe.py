"""Asks a NATS server once whether it lets us in and has JetStream on: four lines of protocol, no client library."""

import asyncio
import contextlib
import json

from services.engines.ports import LOOPBACK

_SECONDS = 2.0
_INBOX = "_INBOX.treadle.probe"


async def jetstream_answers(port: int, token: str) -> bool:
    """False while nobody listens, when the token is refused, or when JetStream does not answer within 2 s."""
    try:
        reader, writer = await asyncio.open_connection(LOOPBACK, port)
    except OSError:
        return False
    try:
        async with asyncio.timeout(_SECONDS):
            return await _ask(reader, writer, token)
    except (OSError, TimeoutError):
        return False
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


async def _ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, token: str) -> bool:
    if not (await reader.readline()).startswith(b"INFO "):
        return False
    options = json.dumps({"verbose": False, "pedantic": False, "auth_token": token, "lang": "treadle"})
    writer.write(f"CONNECT {options}\r\nSUB {_INBOX} 1\r\nPUB $JS.API.INFO {_INBOX} 0\r\n\r\n".encode())
    await writer.drain()
    while line := await reader.readline():
        if line.startswith(b"MSG "):
            answer = json.loads(await reader.readexactly(int(line.split()[-1])))
            return "error" not in answer
        if line.startswith(b"-ERR"):
            return False
    return False
