"""JetStream over the bus, as its wire protocol says: publish, atomic batch, reads from the leader and direct batch
reads.

Knows no stream of ours. Facts about nats-server that this leans on are listed in design/quality.md.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import orjson
from nats.aio.msg import Msg

from services.kernel.bus import Bus
from services.kernel.errors import Unavailable
from services.kernel.ids import new_id

EXPECT_SUBJECT: Final = "Nats-Expected-Last-Subject-Sequence"
STREAM_NOT_FOUND: Final = 10059
STREAM_NAME_IN_USE: Final = 10058
NO_MESSAGE: Final = 10037
_OUT_OF_ORDER: Final = frozenset({10071, 10164})
_NO_ANSWER: Final = 2.0


class Refused(Exception):
    """JetStream refused: nothing was stored. `code` is its err_code."""

    def __init__(self, code: int, description: str) -> None:
        super().__init__(f"{code} {description}")
        self.code = code

    @property
    def out_of_order(self) -> bool:
        """Whether the expected last sequence was not the last one (10071), or may not be (10164: one is in
        flight)."""
        return self.code in _OUT_OF_ORDER


@dataclass(frozen=True, slots=True)
class Stored:
    """A message as it is kept in a stream."""

    subject: str
    seq: int
    headers: Mapping[str, str]
    data: bytes


@dataclass(frozen=True, slots=True)
class Draft:
    """A message to be stored."""

    subject: str
    data: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


async def api(bus: Bus, verb: str, body: Mapping[str, Any] | None = None, timeout: float = 5.0) -> dict[str, Any]:
    """An API request to the leader (`STREAM.INFO.X`). Refused with its code; Unavailable when nobody answers."""
    answer = await bus.request(f"$JS.API.{verb}", orjson.dumps(body) if body is not None else b"", timeout=timeout)
    return _checked(answer.data)


async def publish(bus: Bus, subject: str, data: bytes, headers: dict[str, str], timeout: float = 5.0) -> int:
    """Stores a message; answers its stream sequence. Refused: not stored. Unavailable: nobody knows."""
    answer = await bus.request(subject, data, headers=headers, timeout=timeout)
    return int(_checked(answer.data)["seq"])


async def publish_atomic(bus: Bus, drafts: Sequence[Draft], timeout: float = 5.0) -> int:
    """Stores all or none, in adjacent sequences; answers the sequence of the last. The expectation, if any, is a
    header of the first draft. Refused: nothing is stored. Unavailable: nobody knows."""
    batch = new_id("bat")[4:]
    last = len(drafts)
    for number, draft in enumerate(drafts[:-1], 1):
        headers = {**draft.headers, "Nats-Batch-Id": batch, "Nats-Batch-Sequence": str(number)}
        await bus.publish(draft.subject, draft.data, headers)
    closing = {
        **drafts[-1].headers,
        "Nats-Batch-Id": batch,
        "Nats-Batch-Sequence": str(last),
        "Nats-Batch-Commit": "1",
    }
    answer = await bus.request(drafts[-1].subject, drafts[-1].data, headers=closing, timeout=timeout)
    return int(_checked(answer.data)["seq"])


async def last_of(bus: Bus, stream: str, subject: str) -> Stored | None:
    """The newest message of a subject, from the leader; None when there is none."""
    return await _from_leader(bus, stream, {"last_by_subj": subject})


async def next_of(bus: Bus, stream: str, subject: str, seq: int) -> Stored | None:
    """The first message of a subject (or filter) at or after a sequence, from the leader; None when there is none."""
    return await _from_leader(bus, stream, {"seq": max(seq, 1), "next_by_subj": subject})


async def read_from(bus: Bus, stream: str, subject: str, seq: int, batch: int = 256) -> AsyncIterator[list[Stored]]:
    """What is stored of a subject (or filter) at or after a sequence, in order, in chunks; by direct get, which may
    be behind the leader. Ends at the end. Unavailable when the answers stop."""
    after = max(seq, 1)
    while True:
        chunk, pending = await _direct(bus, stream, {"batch": batch, "seq": after, "next_by_subj": subject})
        if chunk:
            yield chunk
            after = chunk[-1].seq + 1
        if not pending:
            return


async def _direct(bus: Bus, stream: str, body: Mapping[str, Any]) -> tuple[list[Stored], int]:
    found: list[Stored] = []
    async with bus.inbox() as (reply, answers):
        await bus.publish(f"$JS.API.DIRECT.GET.{stream}", orjson.dumps(body), reply=reply)
        while True:
            try:
                async with asyncio.timeout(_NO_ANSWER):
                    message = await answers.get()
            except TimeoutError:
                raise Unavailable("BUS_UNAVAILABLE", "the message bus does not answer right now") from None
            headers = message.headers or {}
            status = headers.get("Status")
            if status == "404":
                return found, 0
            if status == "204":
                return found, int(headers.get("Nats-Num-Pending", "0"))
            if status is not None:
                raise Unavailable("BUS_UNAVAILABLE", "the message bus cannot serve this right now")
            found.append(_direct_message(message, headers))


def _direct_message(message: Msg, headers: Mapping[str, str]) -> Stored:
    return Stored(headers["Nats-Subject"], int(headers["Nats-Sequence"]), headers, message.data)


async def _from_leader(bus: Bus, stream: str, body: Mapping[str, Any]) -> Stored | None:
    try:
        message = (await api(bus, f"STREAM.MSG.GET.{stream}", body))["message"]
    except Refused as refused:
        if refused.code == NO_MESSAGE:
            return None
        raise
    raw = base64.b64decode(message["hdrs"]) if message.get("hdrs") else b""
    data = base64.b64decode(message["data"]) if message.get("data") else b""
    return Stored(message["subject"], int(message["seq"]), _headers(raw), data)


def _headers(raw: bytes) -> dict[str, str]:
    lines = raw.decode("utf-8", "replace").split("\r\n")[1:]
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines) if name}


def _checked(data: bytes) -> dict[str, Any]:
    answer: dict[str, Any] = orjson.loads(data)
    error = answer.get("error")
    if error is not None:
        raise Refused(int(error.get("err_code", error.get("code", 0))), str(error.get("description", "")))
    return answer
