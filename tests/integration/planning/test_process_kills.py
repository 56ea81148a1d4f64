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
from tests.stack import Process, free_port
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


@pytest.mark.timeout(120)
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("method", METHODS)
async def test_kill_9_between_two_steps_of_a_branch(
    method: str, after: bool, database_url: str, nats_url: str, tmp_path: Path, stack: AsyncExitStack
) -> None:
    fake = Halting(method, after)
    address = await stack.enter_async_context(serving_forks(fake, SECRET))
    listen = f"127.0.0.1:{free_port()}"
    told = {
        "TREADLE_LISTEN": listen,
        "TREADLE_PLANNING_DATABASE_URL": database_url,
        "TREADLE_NATS_URL": nats_url,
        "TREADLE_STREAMING_TARGET": address,
        "TREADLE_AUTH_SECRET": SECRET,
    }
    process = Process("planning", ["-m", "services.cli.main", "serve", "planning"], told, tmp_path / "planning.log")
    channel = grpc.aio.insecure_channel(listen, options=[("grpc.max_reconnect_backoff_ms", 200)])
    stack.push_async_callback(channel.close)
    planning = Planning(channel)
    await process.start()
    try:
        await asyncio.wait_for(channel.channel_ready(), 30)
        chat = await planning.open()
        await planning.add(chat, "a", "b")
        await planning.begin(chat, 1)
        before = state(await planning.restore(chat, 0))
        asking = asyncio.create_task(planning.branch(chat, 0, request_id="r1"))
        await asyncio.wait_for(fake.held.wait(), 20)
        await process.kill()
        with pytest.raises((Refusal, grpc.aio.AioRpcError)):
            await asking
        fake.let_go.set()
        await process.start()
        await asyncio.wait_for(_answers(planning, chat), 30)
        branch = (await planning.branch(chat, 0, request_id="r1")).session_id
        async with asyncio.timeout(40):
            assert (await _made(planning, branch)).state == pb.Branch.STATE_READY
        assert list(fake.finished) == [branch]
        assert state(await planning.restore(branch, 0)) == before
        assert texts(await planning.add(branch, "c")) == ["a", "b", "c"]
        answer = await planning.call("ListBranches", pb.ListBranchesRequest(parent=f"sessions/{chat}"))
        assert [one.session_id for one in answer.branches] == [branch]
    finally:
        await process.kill()


async def _answers(planning: Planning, chat: str) -> None:
    while True:
        try:
            await planning.plan(chat)
        except (Refusal, grpc.aio.AioRpcError):
            await asyncio.sleep(0.05)
        else:
            return


async def _made(planning: Planning, branch: str) -> pb.Branch:
    while True:
        answer: pb.Branch = await planning.call("GetBranch", pb.GetBranchRequest(name=f"sessions/{branch}"))
        if answer.state != pb.Branch.STATE_FORKING:
            return answer
        await asyncio.sleep(0.05)
