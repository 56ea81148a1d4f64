"""Facts of sessions out of the inbox: heard in the transaction that remembers them, then the pings."""

from __future__ import annotations

from typing import Final

from services.coordination.adapters.job_rows import PostgresRunWork
from services.coordination.adapters.wake import Wake
from services.coordination.application.hearing import Hearing
from services.kernel.inbox import Fact, subject_of
from services.kernel.postgres import Tx

CONSUMER: Final = "coordination"
SUBJECTS: Final = (subject_of("streaming", "session"),)


class SessionFacts:
    """`handle` and `after` of the service's Inbox, which calls them one after the other."""

    def __init__(self, hearing: Hearing, wake: Wake) -> None:
        self._hearing = hearing
        self._wake = wake
        self._work: PostgresRunWork | None = None

    async def handle(self, tx: Tx, fact: Fact) -> None:
        """In the inbox's transaction."""
        self._work = PostgresRunWork(tx)
        await self._hearing.hear(self._work, fact.tenant, fact.payload)

    async def after(self) -> None:
        """It is committed."""
        if self._work is not None:
            await self._work.tell(self._wake)
