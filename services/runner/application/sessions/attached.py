"""Keeps a session attached: says what the outbox holds, hears commands, comes back when the way breaks (S.5).

A broken attach loses nothing and is nobody's end; only a refusal that says that the session is not ours is.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, Final

from services.kernel import telemetry
from services.kernel.errors import Conflict, Invalid, NotFound, Refusal, TooLarge
from services.runner.application.backoff import delays
from services.runner.application.ports import LeasedJob
from services.runner.application.sessions.outbox import Outbox
from services.runner.application.sessions.ports import Answer, Attachment, GateRefused, Opening, SessionOwner
from services.runner.domain.agent import Usage
from services.runner.domain.failure import Code, Failed
from services.runner.domain.session import Command

_log = telemetry.get_logger("runner.session")
_COMMANDS_MOST: Final = 1_000
_STATES_MOST: Final = 4
_STEADY_SECONDS: Final = 5.0
"""An attach that lasted so long was a good one: the next comes back at once."""


class Attached:
    """`run()` until cancelled or refused. Commands and refused gates are heard through `heard`."""

    def __init__(self, owner: SessionOwner, job: LeasedJob, outbox: Outbox, alive_every: float) -> None:
        """`alive_every`: seconds between words that the agent is there."""
        self._owner = owner
        self._job = job
        self._outbox = outbox
        self._alive_every = alive_every
        self._epoch = 0
        self._queued = 0
        self._taken = 0
        self._states: deque[tuple[str, bytes]] = deque(maxlen=_STATES_MOST)
        self._gone: str | None = None
        self._spent: Callable[[], tuple[str, Usage]] = lambda: ("", Usage())
        self._news = asyncio.Event()
        self._done = asyncio.Event()
        self.heard: asyncio.Queue[Command | GateRefused] = asyncio.Queue(_COMMANDS_MOST)

    def counts(self, spent: Callable[[], tuple[str, Usage]]) -> None:
        """Where to ask for the turn under way (empty: none) and what it has cost so far."""
        self._spent = spent

    def took(self, sequence: int) -> None:
        """The agent has taken every command up to this one."""
        self._taken = sequence
        self._news.set()

    def keep(self, turn: str, state: bytes) -> None:
        """The state after a turn. Of those that are not kept yet the newest few wait; the newest is what counts."""
        self._states.append((turn, state))
        self._news.set()

    def gone(self, code: str) -> None:
        """The agent has ended."""
        self._gone = code
        self._news.set()

    async def settled(self) -> None:
        """Waits until the owner has everything: events and state."""
        await self._outbox.emptied()
        while self._states:
            self._done.clear()
            await self._done.wait()

    async def run(self) -> None:
        """Raises Conflict or NotFound when the session is not ours any more, Failed when it takes offence at us."""
        waits = delays()
        while True:
            began = time.monotonic()
            try:
                await self._attach()
                reason = "ended"
            except (Conflict, NotFound) as refusal:
                _log.warning("session.not_ours", session=self._job.about, reason=refusal.reason)
                raise
            except (Invalid, TooLarge) as refusal:
                # Said again it would be refused again, for ever.
                raise Failed(Code.PROTOCOL_ERROR, f"{refusal.reason}: {refusal.message}") from refusal
            except Refusal as refusal:
                reason = refusal.reason
            if time.monotonic() - began > _STEADY_SECONDS:
                waits = delays()
            delay = next(waits)
            _log.warning("session.attach_broken", session=self._job.about, reason=reason, again_in=delay)
            await asyncio.sleep(delay)

    async def _attach(self) -> None:
        """One attach: the first answer says where to go on. Each duty ends with it."""
        async with self._owner.attach(Opening(self._job, self._epoch, self._taken)) as attachment:
            answers = attachment.answers()
            first = await anext(answers, None)
            if first is None:
                return
            self._outbox.rewind(first.acked)
            await self._hear(first)

            async def hear() -> None:
                async for answer in answers:
                    await self._hear(answer)

            await _first_of(hear(), self._say(attachment), self._tell(attachment))

    async def _hear(self, answer: Answer) -> None:
        self._epoch = answer.epoch
        self._outbox.acked(answer.acked)
        if any(turn == answer.kept for turn, _ in self._states):
            # They go up in order: what came before this one has been dealt with, too.
            while self._states.popleft()[0] != answer.kept:
                pass
            self._done.set()
        for command in answer.commands:
            if command.sequence > self._queued:
                self._queued = command.sequence
                await self.heard.put(command)
        for refused in answer.refused:
            await self.heard.put(refused)

    async def _say(self, attachment: Attachment) -> None:
        while True:
            await attachment.say(await self._outbox.batch())

    async def _tell(self, attachment: Attachment) -> None:
        """What is not an event: commands taken, the state, whether the agent lives. Said anew on every attach."""
        taken, told, gone = 0, set[str](), False
        while True:
            self._news.clear()
            if self._taken > taken:
                taken = self._taken
                await attachment.took(taken)
            for turn, state in list(self._states):
                if turn not in told:
                    told.add(turn)
                    await attachment.keep(turn, state)
            if self._gone is None:
                await attachment.alive(*self._spent())
            elif not gone:
                gone = True
                await self._outbox.emptied()
                await attachment.gone(self._gone)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._alive_every):
                    await self._news.wait()


async def _first_of(*duties: Coroutine[Any, Any, None]) -> None:
    """Runs the duties until one of them ends, however; the others end with it."""
    tasks = [asyncio.create_task(duty) for duty in duties]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
