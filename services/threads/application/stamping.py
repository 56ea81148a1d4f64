"""What `decide` may not make up: the time and fresh ids."""

from __future__ import annotations

from services.kernel.clock import Clock
from services.kernel.ids import NewId
from services.threads.domain.commands import Stamp
from services.threads.domain.events import Actor


class Stamps:
    """Makes one stamp a decide."""

    def __init__(self, clock: Clock, new_id: NewId) -> None:
        self._clock = clock
        self.new_id = new_id

    def stamp(self, actor: Actor, etag: str | None = None) -> Stamp:
        """With this moment, a proposal's id and event ids on demand."""
        return Stamp(
            actor=actor,
            now=self._clock.now(),
            proposal_id=self.new_id("prp"),
            etag=etag,
            new_event_id=lambda: self.new_id("evt"),
        )
