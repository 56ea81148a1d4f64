"""PUB01 and PUB02 on two server processes that share one database: one decision wins, every loser is told."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import grpc
import pytest

from services.engines import Engines
from services.kernel.grpc_client import open_channel
from tests.conftest import SERVICES, MakeDatabase
from tests.e2e.matter import Card, Matters, assert_log_is_whole, cited, transitions
from tests.nats_server import NatsServer
from tests.stack import Fleet, running_fleet
from treadle.threads.v1 import thread_service_pb2 as pb
from treadle.threads.v1 import thread_service_pb2_grpc as rpc

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]


@pytest.fixture
async def fleet(
    tmp_path: Path, servers: Engines, make_database: MakeDatabase, nats_server: NatsServer
) -> AsyncIterator[Fleet]:
    urls = {name: await make_database(name) for name in SERVICES}
    async with running_fleet(tmp_path, servers, urls, nats_server.url) as running:
        yield running


async def test_pub01_twenty_approvals_on_two_processes_run_the_action_once(fleet: Fleet, tmp_path: Path) -> None:
    async with fleet.client(0) as first, fleet.client(1) as second:
        ways = [Matters(first), Matters(second)]
        created = await ways[0].create("Once", "append to once.md: only once")
        card = await ways[0].wait(created["id"], "awaiting_confirmation")
        channels = [open_channel(target) for target in fleet.targets["threads"]]
        stubs = [rpc.ThreadServiceStub(channel) for channel in channels]
        outcomes = await asyncio.gather(
            *(_over_rest(ways[n % 2], card) for n in range(10)), *(_over_grpc(stubs[n % 2], card) for n in range(10))
        )
        for channel in channels:
            await channel.close()
        assert Counter(outcomes) == {"ok": 1, "conflict": 19}
        done = await ways[1].wait(created["id"], "done")
        events = await ways[1].events(created["id"])
        assert_log_is_whole(events, done)
        assert [trigger for _, trigger, _ in transitions(events)].count("execute") == 1
        assert (tmp_path / "home/files/once.md").read_text().count("only once") == 1


async def test_pub01_the_same_key_is_answered_alike_and_runs_once(fleet: Fleet) -> None:
    async with fleet.client(0) as first, fleet.client(1) as second:
        ways = [Matters(first), Matters(second)]
        created = await ways[0].create("Same key", "append to key.md: only once")
        card = await ways[0].wait(created["id"], "awaiting_confirmation")
        answers = await asyncio.gather(
            *(
                ways[n % 2].client.post(
                    f"/api/threads/{created['id']}/accept", json=cited(card), headers={"Idempotency-Key": "one-click"}
                )
                for n in range(20)
            )
        )
        assert {answer.status_code for answer in answers} == {200}, [a.text for a in answers if a.status_code != 200]
        assert len({answer.text for answer in answers}) == 1
        await ways[0].wait(created["id"], "done")


async def test_pub02_approve_and_dismiss_at_the_same_instant_have_one_winner(fleet: Fleet, rounds: int) -> None:
    async with fleet.client(0) as first, fleet.client(1) as second:
        ways = [Matters(first), Matters(second)]
        for number in range(rounds):
            created = await ways[0].create(f"Race {number}", f"append to race-{number}.md: ran")
            card = await ways[0].wait(created["id"], "awaiting_confirmation")
            approve, dismiss = await asyncio.gather(
                ways[number % 2].approve(card), ways[(number + 1) % 2].decide(created["id"], "dismiss")
            )
            won = {approve.status_code, dismiss.status_code}
            assert won == {200, 409}, (approve.text, dismiss.text)
            loser = dismiss if approve.status_code == 200 else approve
            assert loser.json()["metadata"]["state"], loser.text
            settled = await ways[1].wait(created["id"], "done" if approve.status_code == 200 else "dismissed")
            events = await ways[1].events(created["id"])
            assert_log_is_whole(events, settled)
            executed = [trigger for _, trigger, _ in transitions(events)].count("execute")
            assert executed == (1 if approve.status_code == 200 else 0)


async def _over_rest(matters: Matters, card: Card) -> str:
    answer = await matters.approve(card)
    return {200: "ok", 409: "conflict"}.get(answer.status_code, answer.text)


async def _over_grpc(stub: rpc.ThreadServiceAsyncStub, card: Card) -> str:
    try:
        await stub.AcceptThread(pb.AcceptThreadRequest(name=card["name"], **cited(card)))
    except grpc.aio.AioRpcError as error:
        expected = (grpc.StatusCode.ABORTED, grpc.StatusCode.FAILED_PRECONDITION)
        return "conflict" if error.code() in expected else repr(error)
    return "ok"
