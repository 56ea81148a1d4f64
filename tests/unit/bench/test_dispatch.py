"""What is counted as a dispatch, over a runner whose jobs are in a queue of this process."""

from __future__ import annotations

import asyncio

import pytest

from tests.bench.dispatch import Leased, WrongJob, dispatched


class _Runner:
    def __init__(self) -> None:
        self.queue: asyncio.Queue[str] = asyncio.Queue()
        self.waiting = False
        self.ended: list[str] = []

    async def claim(self) -> list[Leased]:
        self.waiting = True
        try:
            return [Leased("job", 1, await self.queue.get())]
        finally:
            self.waiting = False

    async def end(self, job: Leased) -> None:
        self.ended.append(job.subject)


async def test_the_claim_waits_before_the_command_and_the_warm_ones_are_not_counted() -> None:
    runner = _Runner()
    waited = []

    async def command(name: str) -> str:
        waited.append(runner.waiting)
        runner.queue.put_nowait(name)
        return name

    taken = await dispatched(runner, ["a", "b", "c"], command, warm=1)

    assert waited == [True, True, True]
    assert runner.ended == ["a", "b", "c"]
    assert len(taken.after_answer) == len(taken.after_call) == 2
    assert all(answer <= call for answer, call in zip(taken.after_answer, taken.after_call, strict=True))


async def test_somebody_elses_job_is_no_dispatch() -> None:
    runner = _Runner()

    async def command(name: str) -> str:
        runner.queue.put_nowait("another")
        return name

    with pytest.raises(WrongJob, match="another"):
        await dispatched(runner, ["a"], command, warm=0)
