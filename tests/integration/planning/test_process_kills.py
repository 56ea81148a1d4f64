"""kill -9 of a planning process while a branch is between two steps: the next process finishes it, once."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import grpc
import pytest

from services.kernel.errors import Refusal
from tests.fakes.fork_service import FakeForks, serving_forks
from tests.integration.planning.client import SECRET, Planning, state, texts
from tests.integration.planning.process import planning_process
from treadle.planning.v1 import planning_service_pb2 as pb

METHODS = ("ForkSession", "FinishFork")


class Halting(FakeForks):
    """Holds one call, before or after its effect, until it is let go; says that it does."""

    def __init__(self, method: str, after: bool) -> None:
        super().__init__()
        self._method, self._after = method, after
        self.held, self.let_go = asyncio.Event(), asyncio.Event()

    async def ForkSession(self, request: Any, context: Any) -> Any:
        """Held."""
        return await self._through("ForkSession", super().ForkSession, request, context)

    async def FinishFork(self, request: Any, context: Any) -> Any:
        """Held."""
        return await self._through("FinishFork", super().FinishFork, request, context)

    async def _through(self, name: str, does: Any, request: Any, context: Any) -> Any:
        if name == self._method and not self._after:
            await self._hold()
        answer = await does(request, context)
        if name == self._method and self._after:
            await self._hold()
        return answer

    async def _hold(self) -> None:
        self.held.set()
        await self.let_go.wait()


@pytest.mark.timeout(400)
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("method", METHODS)
async def test_kill_9_between_two_steps_of_a_branch(
    method: str, after: bool, database_url: str, nats_url: str, tmp_path: Path, stack: AsyncExitStack
) -> None:
    fake = Halting(method, after)
    address = await stack.enter_async_context(serving_forks(fake, SECRET))
    async with planning_process(database_url, nats_url, address, tmp_path) as process:
        planning = process.planning
        chat = await planning.open()
        await planning.add(chat, "a", "b")
        await planning.begin(chat, 1)
        before = state(await planning.restore(chat, 0))
        asking = asyncio.create_task(planning.branch(chat, 0, request_id="r1"))
        await asyncio.wait_for(fake.held.wait(), 60)
        await process.kill()
        with pytest.raises((Refusal, grpc.aio.AioRpcError)):
            await asking
        fake.let_go.set()
        await process.start()
        branch = (await planning.branch(chat, 0, request_id="r1")).session_id
        async with asyncio.timeout(60):
            assert (await _made(planning, branch)).state == pb.Branch.STATE_READY
        assert list(fake.finished) == [branch]
        assert state(await planning.restore(branch, 0)) == before
        assert texts(await planning.add(branch, "c")) == ["a", "b", "c"]
        answer = await planning.call("ListBranches", pb.ListBranchesRequest(parent=f"sessions/{chat}"))
        assert [one.session_id for one in answer.branches] == [branch]


async def _made(planning: Planning, branch: str) -> pb.Branch:
    while True:
        answer: pb.Branch = await planning.call("GetBranch", pb.GetBranchRequest(name=f"sessions/{branch}"))
        if answer.state != pb.Branch.STATE_FORKING:
            return answer
        await asyncio.sleep(0.05)
