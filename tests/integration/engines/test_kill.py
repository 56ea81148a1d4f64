"""kill -9 of the supervisor, of PostgreSQL and of NATS: everything comes back, nothing is lost or left behind."""

import asyncio
import os
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import asyncpg
import nats
import psutil
import pytest

from services.engines import EngineDied, EngineRestarted, Engines, RestartFailed, Watch, engines
from services.engines.account import Account
from services.engines.orphans import at_work
from services.engines.place import find_place
from tests.integration.engines.supervised import PROGRAM, ROOT, supervised, until_gone

# Each starts a database from nothing, so `make test` has fewer than the full count of kill loops.
ROUNDS = 20 if int(os.environ.get("TREADLE_ROUNDS", "20")) > 20 else 6


async def write(url: str, number: int) -> None:
    connection = await asyncpg.connect(url)
    await connection.execute("CREATE TABLE IF NOT EXISTS kept (n int)")
    await connection.execute("INSERT INTO kept VALUES ($1)", number)
    await connection.close()


async def kept(url: str) -> list[int]:
    connection = await asyncpg.connect(url)
    rows = await connection.fetch("SELECT n FROM kept ORDER BY n")
    await connection.close()
    return [row[0] for row in rows]


async def test_when_the_supervisor_is_killed_its_children_go_and_the_data_stays(home: Path) -> None:
    async with supervised(home) as first:
        await write(first.said["postgres"], 1)
        first.kill()
        await until_gone(*first.said["pids"].values())
    async with engines(home) as running:
        assert await kept(running.database_url("threads")) == [1]


async def test_a_start_right_after_a_kill_waits_for_the_old_children(home: Path) -> None:
    async with supervised(home) as first:
        await write(first.said["postgres"], 1)
        first.kill()
        await first.process.wait()
        async with supervised(home) as second:
            assert second.said["pids"].keys() == {"postgres", "nats"}, second.said
            assert await kept(second.said["postgres"]) == [1]


async def test_killed_at_any_moment_of_its_start_the_next_start_works(new_home: Path) -> None:
    """The first start, with initdb in it, is the long one: most rounds begin with an empty folder."""
    chance = random.Random(4)
    for number in range(ROUNDS):
        async with asyncio.timeout(60):
            process = await started_and_killed(new_home, chance.uniform(0.0, 0.9))
            await process.wait()
        async with engines(new_home) as running:
            await write(running.database_url("threads"), number)
            assert number in await kept(running.database_url("threads"))
        if chance.random() < 0.7:
            shutil.rmtree(new_home)


async def started_and_killed(home: Path, seconds: float) -> asyncio.subprocess.Process:
    process = await asyncio.create_subprocess_exec(
        *(os.fspath(part) for part in (sys.executable, PROGRAM, home, "-1")),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    try:
        await asyncio.wait_for(process.wait(), seconds)
    except TimeoutError:
        process.kill()
    return process


def unsupervised(command: list[str], account: Account, cwd: Path | None = None) -> subprocess.Popen[bytes]:
    """Started with no tie to anybody's life."""
    return subprocess.Popen(
        command,
        cwd=cwd,
        stderr=subprocess.DEVNULL,
        user=account.uid if account.drop else None,
        group=account.gid if account.drop else None,
        extra_groups=[] if account.drop else None,
    )


async def test_a_postgres_and_a_nats_that_outlived_their_supervisor_are_stopped_first(home: Path) -> None:
    """As if the death signal had not reached them."""
    async with engines(home) as running:
        await write(running.database_url("threads"), 1)
        commands = {name: psutil.Process(running.pid(name)).cmdline() for name in ("postgres", "nats")}
        data, account = running.data, find_place(home, None).account
    (data / "sockets").mkdir(mode=0o700)
    os.chown(data / "sockets", account.uid, account.gid)
    plain = [commands["postgres"][0], "-D", str(data / "postgres"), "-k", str(data / "sockets"), "-h", ""]
    left = [
        unsupervised(plain, account),
        unsupervised(commands["nats"], account, data / "nats"),
    ]
    async with asyncio.timeout(20):
        while not (
            at_work("postgres", (data / "postgres",), account) and at_work("nats-server", (data / "nats",), account)
        ):
            await asyncio.sleep(0.01)
        while "ready" not in (data / "postgres" / "postmaster.pid").read_text():
            await asyncio.sleep(0.01)
    async with engines(home) as running:
        assert all(process.wait(5) is not None for process in left)
        assert await kept(running.database_url("threads")) == [1]
    shutil.rmtree(data / "sockets")


async def test_a_stale_pid_file_whose_number_is_another_process_now_harms_neither(home: Path) -> None:
    async with engines(home) as running:
        data = running.data / "postgres"
        account = find_place(home, None).account
    with unsupervised(["sleep", "60"], account) as stranger:
        try:
            (data / "postmaster.pid").write_text(
                f"{stranger.pid}\n{data}\n1700000000\n5432\n/tmp\n127.0.0.1\n1 1\nready\n"
            )
            async with engines(home) as running:
                assert running.pid("postgres") != stranger.pid
                assert stranger.poll() is None
        finally:
            stranger.kill()


@pytest.mark.parametrize("engine", ["postgres", "nats"])
async def test_a_killed_engine_comes_back_on_the_same_port_and_watchers_are_told(home: Path, engine: str) -> None:
    async with engines(home) as running:
        await write(running.database_url("threads"), 1)
        before = (running.database_url("threads"), running.nats_url)
        watch = running.watch()
        for _ in range(3):
            old = running.pid(engine)
            os.kill(old, signal.SIGKILL)
            died = await asyncio.wait_for(watch.next(), 20)
            assert isinstance(died, EngineDied)
            assert (died.engine, died.exit_code) == (engine, -signal.SIGKILL)
            back = await asyncio.wait_for(watch.next(), 20)
            assert isinstance(back, EngineRestarted)
            assert running.pid(engine) != old
            assert (running.database_url("threads"), running.nats_url) == before
            assert await kept(before[0]) == [1]
            client = await nats.connect(before[1])
            await client.close()


async def test_an_acknowledged_message_survives_the_kill_of_nats(home: Path) -> None:
    async with engines(home) as running:
        client = await nats.connect(running.nats_url)
        await client.jetstream().add_stream(name="KEPT", subjects=["kept"])
        for number in range(50):
            await client.jetstream().publish("kept", str(number).encode())
        await client.close()
        watch = running.watch()
        os.kill(running.pid("nats"), signal.SIGKILL)
        await until_restarted(watch)
        client = await nats.connect(running.nats_url)
        assert (await client.jetstream().stream_info("KEPT")).state.messages == 50
        await client.close()


async def test_both_killed_at_once_while_somebody_writes_lose_nothing_that_was_confirmed(home: Path) -> None:
    async with engines(home) as running:
        await write(running.database_url("threads"), -1)
        watch, confirmed = running.watch(), {-1}
        writer = asyncio.create_task(write_on(running, confirmed))
        for _ in range(3):
            while len(confirmed) % 20 != 0:
                await asyncio.sleep(0)
            for name in ("postgres", "nats"):
                os.kill(running.pid(name), signal.SIGKILL)
            await until_restarted(watch)
            await until_restarted(watch)
        writer.cancel()
        await asyncio.gather(writer, return_exceptions=True)
        assert confirmed <= set(await kept(running.database_url("threads")))


async def write_on(running: Engines, confirmed: set[int]) -> None:
    number = 0
    while True:
        try:
            await write(running.database_url("threads"), number)
            confirmed.add(number)
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
            await asyncio.sleep(0.01)
        number += 1


async def until_restarted(watch: Watch) -> None:
    async with asyncio.timeout(30):
        async for event in watch:
            assert not isinstance(event, RestartFailed), event
            if isinstance(event, EngineRestarted):
                return


async def test_an_engine_that_cannot_come_back_is_tried_again_until_it_can(home: Path) -> None:
    async with engines(home) as running:
        watch = running.watch()
        configuration = running.data / "nats"
        aside = running.data / "nats.aside"
        configuration.rename(aside)
        configuration.write_text("a file where the folder belongs")
        os.kill(running.pid("nats"), signal.SIGKILL)
        assert isinstance(await asyncio.wait_for(watch.next(), 10), EngineDied)
        failed = await asyncio.wait_for(watch.next(), 10)
        assert isinstance(failed, RestartFailed)
        configuration.unlink()
        aside.rename(configuration)
        async with asyncio.timeout(20):
            while not isinstance(await watch.next(), EngineRestarted):
                pass
        client = await nats.connect(running.nats_url)
        await client.close()
