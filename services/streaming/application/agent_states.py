"""An agent's opaque state comes up in pieces; it is kept by its content, with the turn it was taken after (S.7)."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Final

from services.streaming.application.agent_ports import Agents
from services.streaming.application.ports import SessionKey

STATE_MOST: Final = 8 * 1024 * 1024
CHUNK_MOST: Final = 256 * 1024
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a state."""

    turn_id: str
    digest: str
    offset: int
    data: bytes
    last: bool


@dataclass(frozen=True, slots=True)
class StateOutcome:
    """What became of a state; no reason: it is stored."""

    turn_id: str
    digest: str
    reason: str = ""


class Upload:
    """The uploads of one attachment, one after the other."""

    def __init__(self, rows: Agents, key: SessionKey) -> None:
        self._rows = rows
        self._key = key
        self._begun: tuple[str, str] | None = None
        self._faulty: tuple[str, str] | None = None
        self._data = bytearray()

    async def take(self, piece: Piece) -> StateOutcome | None:
        """An outcome with the last piece, or at the first fault; None in between."""
        if piece.offset == 0:
            self._begun, self._data = (piece.turn_id, piece.digest), bytearray()
        if self._begun is None:
            told = self._faulty == (piece.turn_id, piece.digest)
            return None if told or not piece.last else self._broken(piece)
        if self._begun != (piece.turn_id, piece.digest) or piece.offset != len(self._data):
            return self._broken(piece)
        if len(self._data) + len(piece.data) > STATE_MOST:
            return self._broken(piece, "AGENT_STATE_TOO_LARGE")
        self._data += piece.data
        if not piece.last:
            return None
        whole, self._data, self._begun = bytes(self._data), bytearray(), None
        if _DIGEST.fullmatch(piece.digest) is None or hashlib.sha256(whole).hexdigest() != piece.digest:
            return self._broken(piece)
        await self._rows.keep_state(self._key, piece.turn_id, piece.digest, whole)
        return StateOutcome(piece.turn_id, piece.digest)

    def _broken(self, piece: Piece, reason: str = "AGENT_STATE_BROKEN") -> StateOutcome:
        self._begun, self._data = None, bytearray()
        self._faulty = (piece.turn_id, piece.digest)
        return StateOutcome(piece.turn_id, piece.digest, reason)
