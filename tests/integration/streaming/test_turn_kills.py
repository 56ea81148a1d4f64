"""Turns over kill -9 of a replica and over a database that is away (issue 4; PUB07, I10)."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, suppress
from urllib.parse import urlsplit

import asyncpg
import grpc

from services.engines import Engines
from services.kernel import jetstream
from services.kernel.bus import Bus
from services.kernel.streams import SESSIONS as STREAM
from tests.integration.streaming.agent_runner import Held, running
from tests.integration.streaming.client import Listener, Streaming, body
from tests.integration.streaming.conftest import StartReplica
from tests.integration.streaming.test_process import Launch, launch  # noqa: F401 - a fixture
from tests.integration.streaming.test_turns import get, prompt, reached
from treadle.streaming.v1 import session_service_pb2 as pb

State = pb.Session.State
SESSIONS = 50
PIECES = 40


async def _work(held: Held, other: Streaming, turn: str) -> None:
    """An agent that streams, whatever becomes of its stream, and settles."""
    for n in range(PIECES):
        with suppress(asyncio.InvalidStateError, grpc.aio.AioRpcError):
            await held.text(f"{n},", block=n % 3)
        await asyncio.sleep(0.02)
        if held.ended.is_set():
            await held.attach(other)
    whole = "".join(f"{n}," for n in range(PIECES))
    while True:
        try:
            await held.settle(turn, final_text=whole)
            return
        except (asyncio.InvalidStateError, grpc.aio.AioRpcError):
            await held.attach(other)


def _check(reader: Listener) -> None:
    assert reader.ids == [f"1-{n}" for n in range(1, len(reader.ids) + 1)]
    for block in range(3):
        said = "".join(body(f)["delta"] for f in reader.frames if f.event == "text_delta" and body(f)["block"] == block)
        assert said == "".join(f"{n}," for n in range(PIECES) if n % 3 == block)
    states = [body(f)["state"] for f in reader.frames if f.event == "turn"]
    assert states == ["idle", "running", "idle"]


async def test_kill_9_of_a_replica_while_fifty_sessions_stream_leaves_no_hole_at_the_other(
    launch: Launch,  # noqa: F811
) -> None:
    process, killed = await launch()
    _, other = await launch()
    async with AsyncExitStack() as scope, running(other) as runner:
        names = [await other.session() for _ in range(SESSIONS)]
        readers = {name: await scope.enter_async_context(other.listening(name)) for name in names}
        work: list[asyncio.Task[None]] = []
        for name in names:
            turn = await prompt(killed, name)
            (job,) = await runner.claim_jobs()
            assert job.session == name
            held = Held(killed, job, runner.runner_id)
            runner.hold(held)
            await held.attach()
            await held.command("prompt")
            work.append(asyncio.create_task(_work(held, other, turn)))
        await asyncio.sleep(0.3)
        await process.kill()
        async with asyncio.timeout(100):
            await asyncio.gather(*work)
        for name, reader in readers.items():
            await reader.until(lambda one: sum(f.event == "turn" for f in one.frames) == 3, 30)
            _check(reader)
            assert (await get(other, name)).outcome == "ok"


async def test_pub07_recovery_goes_on_after_two_seconds_without_the_database(
    start_impatient: StartReplica, database_url: str, servers: Engines
) -> None:
    streaming = await start_impatient()
    names = [await streaming.session() for _ in range(3)]
    async with running(streaming) as runner:
        for name in names:
            await prompt(streaming, name)
            await (await runner.take()).command("prompt")
        runner.silence()
        admin = await asyncpg.connect(servers.admin_url())
        base = urlsplit(database_url).path.removeprefix("/")
        try:
            await admin.execute(f'ALTER DATABASE "{base}" ALLOW_CONNECTIONS false')
            await admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", base)
            await asyncio.sleep(2)
        finally:
            await admin.execute(f'ALTER DATABASE "{base}" ALLOW_CONNECTIONS true')
            await admin.close()
        for name in names:
            async with asyncio.timeout(20):
                while True:
                    with suppress(grpc.aio.AioRpcError):
                        assert (await reached(streaming, name, State.STATE_FAILED)).code == "runner_lost"
                        break


async def test_who_still_holds_the_job_is_asked_to_attach_again_when_the_stream_begins_anew(
    streaming: Streaming, bus: Bus
) -> None:
    name = await streaming.session()
    async with running(streaming) as runner:
        turn = await prompt(streaming, name)
        held = await runner.take()
        await held.command("prompt")
        await held.text("lost with the log")
        await held.stored()
        subject = f"session.default.{name.partition('/')[2]}"
        await jetstream.api(bus, f"STREAM.PURGE.{STREAM}", {"filter": subject})
        with suppress(asyncio.InvalidStateError, grpc.aio.AioRpcError):
            await held.text("said anew")
        await held.ended.wait()
        assert held.refusal == "ATTACH_AGAIN"
        await held.attach()
        assert held.generation == 2
        await held.settle(turn, final_text="whole")
        async with streaming.listening(name) as reader:
            await reader.until(lambda one: any(body(f).get("outcome") == "ok" for f in one.frames))
            assert all(one.startswith("2-") for one in reader.ids)
