"""A worker's way: its session is there, it is prompted or found at work, and watched to the end of its turn (C.2, C.3).

Knows no lease. Where streaming is away it asks again; who holds the lease bounds that.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace
from typing import Final, TypeVar

from services.kernel import telemetry
from services.kernel.errors import DeadlineExceeded, NotAllowed, NotFound, Refusal, Unauthenticated, Unavailable
from services.runner.application.backoff import delays
from services.runner.application.workers.ports import News, Progress, WorkerSessions
from services.runner.domain.worker import Reason, SessionTurn, TurnState, WorkerEnd, WorkerOrder, reason_of

_log = telemetry.get_logger("runner.worker")
_LOOK_SECONDS: Final = 60.0
"""However quiet the stream is, the turn is looked at so often."""
_COUNT_SECONDS: Final = 2.0
_PROMPTS_MOST: Final = 2
_STARTING_SECONDS: Final = 0.1
"""A turn that somebody else begins may be there already and not to be seen yet."""
_T = TypeVar("_T")


class Errand:
    """One worker, one attempt. `told()` is called where the progress has changed in what must be said at once."""

    def __init__(self, sessions: WorkerSessions, order: WorkerOrder, attempt: int, told: Callable[[], None]) -> None:
        self._sessions = sessions
        self._order = order
        self._attempt = attempt
        self._told = told
        self._prompts = 0
        self._turn = ""
        self._stopping = False
        self.progress = Progress()

    async def run(self) -> WorkerEnd:
        """To the end of the worker's turn, or to what keeps it from having one. Raises Unauthenticated when the
        worker's token is good no more: who takes the worker next has a new one."""
        try:
            return await self._run()
        except Unauthenticated:
            raise
        except NotFound as refusal:
            return self._end(Reason.INTERRUPTED, refusal)
        except Refusal as refusal:
            return self._end(Reason.FAILED if self._turn else Reason.LAUNCH_FAILED, refusal)

    async def stop(self) -> None:
        """Asks the agent to stop; `run` tells then how it ended."""
        self._stopping = True
        if self._turn:
            await self._persist(lambda: self._sessions.abort(self._order))

    async def count(self) -> None:
        """Asks what the turn under way has cost so far, which no news tells. Nothing where there is no answer soon."""
        if not self._turn:
            return
        with contextlib.suppress(Refusal, TimeoutError):
            async with asyncio.timeout(_COUNT_SECONDS):
                turn = await self._sessions.turn(self._order, self._turn)
            if turn is not None:
                self.progress = replace(self.progress, tokens=max(self.progress.tokens, turn.tokens))

    async def _run(self) -> WorkerEnd:
        await self._persist(lambda: self._sessions.create(self._order))
        turn = await self._persist(lambda: self._sessions.turn(self._order))
        while True:
            if turn is None or self._asks_again(turn):
                if self._stopping:
                    return WorkerEnd(Reason.CANCELLED)
                turn = await self._prompted()
                continue
            turn = await self._followed(turn)
            if not self._asks_again(turn):
                return await self._ended(turn)

    def _asks_again(self, turn: SessionTurn) -> bool:
        """What nobody heard is asked for again: once by each runner, and again where a runner was lost."""
        return turn.unheard and (self._prompts == 0 or (turn.code == "runner_lost" and self._prompts < _PROMPTS_MOST))

    async def _prompted(self) -> SessionTurn | None:
        """The turn that our prompt began, or the one that was faster."""
        request_id = f"{self._order.worker}-{self._attempt}" + (f"-{self._prompts}" if self._prompts else "")
        try:
            turn_id = await self._persist(lambda: self._sessions.prompt(self._order, request_id))
        except NotAllowed as refusal:
            if refusal.reason != "TURN_RUNNING":
                raise
            await asyncio.sleep(_STARTING_SECONDS)
            return await self._persist(lambda: self._sessions.turn(self._order))
        self._prompts += 1
        return SessionTurn(turn_id, TurnState.RUNNING)

    async def _followed(self, turn: SessionTurn) -> SessionTurn:
        """The turn at its end. A stream that breaks is no end; it goes on where it was."""
        self._turn = turn.id
        self._note(turn)
        cursor, current, waits = "", "", delays()
        while not turn.ended:
            over = False
            try:
                async with (
                    asyncio.timeout(_LOOK_SECONDS),
                    aclosing(self._sessions.watch(self._order, cursor)) as stream,
                ):
                    async for news in stream:
                        cursor, current, waits = news.cursor or cursor, news.turn or current, delays()
                        if over := current == turn.id and self._hear(news):
                            break
            except TimeoutError:
                over = True
            except NotFound:
                raise
            except Refusal as refusal:
                _log.info("worker.stream_broken", worker=self._order.worker, reason=refusal.reason)
            if not over:
                await asyncio.sleep(next(waits))
            found = await self._persist(lambda: self._sessions.turn(self._order, turn.id))
            if found is None:
                raise NotFound("TURN_NOT_FOUND", "the worker's turn is gone")
            self._note(turn := found)
        return turn

    async def _ended(self, turn: SessionTurn) -> WorkerEnd:
        text = await self._persist(lambda: self._sessions.text(self._order, turn.id))
        return WorkerEnd(reason_of(turn, text, self._stopping), text, turn.tokens, turn.code)

    def _end(self, reason: Reason, refusal: Refusal) -> WorkerEnd:
        reason = Reason.CANCELLED if self._stopping else reason
        return WorkerEnd(reason, "", self.progress.tokens, f"{refusal.reason}: {refusal.message}")

    def _hear(self, news: News) -> bool:
        """Whether the turn has ended."""
        waiting = self.progress.waiting if news.state is None else news.state is TurnState.WAITING
        self._tell(replace(self.progress, said=self.progress.said or news.said, waiting=waiting))
        return news.state in (TurnState.IDLE, TurnState.FAILED)

    def _note(self, turn: SessionTurn) -> None:
        said = self.progress.said or turn.said
        waiting = turn.state is TurnState.WAITING
        self._tell(Progress(said, waiting, max(self.progress.tokens, turn.tokens)))

    def _tell(self, progress: Progress) -> None:
        before, self.progress = self.progress, progress
        if (before.said, before.waiting) != (progress.said, progress.waiting):
            self._told()

    async def _persist(self, ask: Callable[[], Awaitable[_T]]) -> _T:
        """Asked again while streaming cannot be asked."""
        for delay in delays():
            try:
                return await ask()
            except (Unavailable, DeadlineExceeded) as refusal:
                _log.info("worker.not_heard", worker=self._order.worker, reason=refusal.reason, again_in=delay)
                await asyncio.sleep(delay)
        raise AssertionError("delays() does not end")
