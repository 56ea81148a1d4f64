"""Ids of turns that a branch shares with its ancestors. A branch shows them under ids of its own (design/planning.md
C6): made from the id that the turn has where it happened, so that none of them is stored."""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

_RANDOM: Final = (1 << 62) - 1
"""The bits of a UUIDv7 that are random: what tells its time, version and variant stays."""


def seen_as(turn_id: str, session_id: str) -> str:
    """The id under which the session shows another one's turn; and back: of an id that it shows, the turn's own."""
    mask = int.from_bytes(blake2b(session_id.encode(), digest_size=8).digest()) & _RANDOM
    prefix, _, digits = turn_id.partition("_")
    return f"{prefix}_{int(digits, 16) ^ mask:032x}"
