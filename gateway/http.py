"""The few ASGI words that the gateway's endpoints share: reading headers and bodies, sending whole answers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any, Final

from gateway.problems import MEDIA_TYPE, Problem
from gateway.refusals import SlowBody, WrongMediaType
from services.kernel.errors import TooLarge

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

JSON: Final = "application/json"
REQUEST_ID: Final = "treadle.request_id"
"""Where a scope keeps the request's id."""
GOOD_FOR: Final = "treadle.good_for"
"""Where the scope of a stream keeps for how many seconds its token is good; None: for ever."""


class Disconnected(Exception):
    """The client left before its request was read."""


def header(scope: Scope, name: bytes) -> str | None:
    """The first header of that (lower-case) name."""
    for key, value in scope["headers"]:
        if key == name:
            return str(value, "latin-1")
    return None


async def read_body(scope: Scope, receive: Receive, most: int, seconds: float) -> bytes:
    """The whole body; TooLarge above `most` bytes, SlowBody when it does not arrive within `seconds`. A body that says
    that it is packed is refused: unpacked it may be of any size."""
    if (header(scope, b"content-encoding") or "identity").lower() != "identity":
        raise WrongMediaType(
            "BODY_ENCODED", "send the body as it is, without Content-Encoding", {"accept-encoding": ""}
        )
    declared = header(scope, b"content-length")
    if declared is not None and declared.isdecimal() and int(declared) > most:
        raise _too_large(most)
    try:
        async with asyncio.timeout(seconds):
            return await _collect(receive, most)
    except TimeoutError:
        raise SlowBody("BODY_TIMEOUT", "the body did not arrive in time", {"connection": "close"}) from None


async def _collect(receive: Receive, most: int) -> bytes:
    chunks = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Disconnected
        chunks += message.get("body", b"")
        if len(chunks) > most:
            raise _too_large(most)
        if not message.get("more_body", False):
            return bytes(chunks)


def _too_large(most: int) -> TooLarge:
    return TooLarge("BODY_TOO_LARGE", f"the body is larger than {most} bytes", field="body", limit=most)


async def answer(
    send: Send, status: int, body: bytes, media_type: str = JSON, headers: Iterable[tuple[str, str]] = ()
) -> None:
    """A whole answer. API answers are nobody's to keep (`no-store`)."""
    named = [("content-type", media_type), ("content-length", str(len(body))), *headers]
    if not any(name == "cache-control" for name, _ in named):
        named.append(("cache-control", "no-store"))
    encoded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in named]
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    await send({"type": "http.response.body", "body": body})


async def answer_problem(scope: Scope, send: Send, problem: Problem) -> None:
    """A problem document with the request's id."""
    body = problem.body(scope.get(REQUEST_ID, ""))
    await answer(send, problem.status, body, MEDIA_TYPE, problem.headers.items())
