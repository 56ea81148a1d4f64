"""From a command to the answer of the claim that a runner holds open: one command at a time, one claim waiting.

A claim takes two looks at least: one when it opens, which finds nothing, and one when it is woken. The command is not
sent before the first is surely over: a job found by it would not have been dispatched to a waiting runner.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

SETTLE_SECONDS = 0.03
"""Between the opening of a claim and the command: far longer than the first look takes, far shorter than
the second between looks that come without a ping."""
_LOST_SECONDS = 30
T = TypeVar("T")


class WrongJob(Exception):
    """The claim answered something else than the one job of the command."""


@dataclass(frozen=True, slots=True)
class Leased:
    """What a claim answered: the job, and the resource name of what it is about."""

    job_id: str
    fence: int
    subject: str


class WaitingRunner(Protocol):
    """A runner's side of the jobs."""

    async def claim(self) -> list[Leased]:
        """Long-polls for one job."""
        ...

    async def end(self, job: Leased) -> None:
        """Gets rid of the job, so that its lease does not run out while others are measured."""
        ...


@dataclass(frozen=True, slots=True)
class Dispatched:
    """Milliseconds of each dispatch. `after_answer` counts from the command's answer, which is a little later than its
    commit, and may be negative where the claim's answer overtook it; `after_call` from the command's call, so that it
    includes the whole command."""

    after_answer: list[float] = field(default_factory=list)
    after_call: list[float] = field(default_factory=list)


async def dispatched(
    runner: WaitingRunner, work: Sequence[T], command: Callable[[T], Awaitable[str]], warm: int
) -> Dispatched:
    """One dispatch after the other; `command` answers the resource name. The first `warm` are not counted."""
    taken = Dispatched()
    for number, piece in enumerate(work):
        claim = asyncio.create_task(_claimed(runner))
        await asyncio.sleep(SETTLE_SECONDS)
        called = time.perf_counter()
        name = await command(piece)
        answered = time.perf_counter()
        async with asyncio.timeout(_LOST_SECONDS):
            jobs, at = await claim
        if [job.subject for job in jobs] != [name]:
            raise WrongJob(f"{[job.subject for job in jobs]} instead of {name}")
        if number >= warm:
            taken.after_answer.append((at - answered) * 1000)
            taken.after_call.append((at - called) * 1000)
        await runner.end(jobs[0])
    return taken


async def _claimed(runner: WaitingRunner) -> tuple[list[Leased], float]:
    jobs = await runner.claim()
    return jobs, time.perf_counter()
