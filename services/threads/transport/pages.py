"""Pages of cards and events: never larger than one message may be (PUB23), never a row skipped (PUB24)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeVar

from google.protobuf.message import Message

PAGE_BYTES: Final = 3 * 1024 * 1024
M = TypeVar("M", bound=Message)


def fitting(messages: Sequence[M]) -> list[M]:
    """The longest head of the rows within PAGE_BYTES; at least one."""
    fits: list[M] = []
    total = 0
    for message in messages:
        total += message.ByteSize()
        if fits and total > PAGE_BYTES:
            break
        fits.append(message)
    return fits
