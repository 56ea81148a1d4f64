"""What a worker's agent had said where no runner tells it: read in its session, so that nothing is lost with the runner
(C.3, PUB11). Streaming is asked, so it is done outside of the transaction that ends the worker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from services.coordination.application.ending import End
from services.coordination.application.run_ports import TurnSeen, WorkerSessions
from services.coordination.application.sectioning import Reading, read
from services.coordination.domain.limits import REPORT_BYTES
from services.coordination.domain.worker import Reason
from services.kernel.text import storable

_LONGEST_CHARACTER: Final = 4
"""Bytes: a text is cut between two characters."""


@dataclass(frozen=True, slots=True)
class Words:
    """What is in the newest turn of a worker's session. `text`: None where there is none, or no turn; `at_work`: the
    turn has not ended; `outcome`: how it ended well; `too_large`: there is more than a report may have."""

    text: str | None = None
    reading: Reading | None = None
    tokens: int = 0
    at_work: bool = False
    outcome: str = ""
    too_large: bool = False

    def end(self, reason: Reason, tokens: int = 0) -> End:
        """The end of a worker with these words; a session that is still at work is to be aborted. What is larger than a
        report may be is kept in the session alone, and is the reason (C.4)."""
        why = Reason.RESULT_TOO_LARGE if self.too_large else reason
        tokens = max(tokens, self.tokens)
        return End(why, self.text, tokens, stop_session=self.at_work, reading=self.reading)


class LastWords:
    """Reads them."""

    def __init__(self, sessions: WorkerSessions) -> None:
        self._sessions = sessions

    async def of(self, tenant: str, session_id: str) -> Words:
        """Of the session's newest turn. STREAMING_UNAVAILABLE."""
        return await self.in_turn(tenant, session_id, await self._sessions.turn_of(tenant, session_id))

    async def in_turn(self, tenant: str, session_id: str, turn: TurnSeen | None) -> Words:
        """As `of`, where the turn was looked at already."""
        if turn is None:
            return Words()
        text = ""
        if turn.under_way:
            text = await self._sessions.said_so_far(tenant, session_id, turn.turn_id)
        if not text:  # it has ended, or did so meanwhile
            text = await self._sessions.text_of(tenant, session_id, turn.turn_id)
        text = storable(text)
        size = len(text.encode())
        # A session keeps so much of an answer, too: where that was all of it that fitted, it was cut there.
        too_large = size > REPORT_BYTES - (_LONGEST_CHARACTER if turn.outcome == "truncated" else 0)
        if size > REPORT_BYTES:
            return Words(None, None, turn.tokens, turn.under_way, turn.outcome, too_large)
        return Words(text, await read(text), turn.tokens, turn.under_way, turn.outcome, too_large)
