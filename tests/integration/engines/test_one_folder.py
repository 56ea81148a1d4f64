"""Start, use, stop: what a person and the services see of the engines."""

import asyncio
import socket
import stat
import time
from pathlib import Path

import asyncpg
import nats
import pytest

from services.engines import EngineNotStarted, EngineSettings, HomeInUse, PortTaken, discard, engines, resolve_home
from services.engines.nats_probe import jetstream_answers
from tests.integration.engines.supervised import supervised, until_gone

DATABASES = ("threads", "coordination", "planning", "streaming")


async def test_a_cold_and_a_warm_start_give_the_same_data_and_say_how_long_they_took(
    new_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    started = time.perf_counter()
    async with engines(new_home) as running:
        cold = time.perf_counter() - started
        for name in DATABASES:
            connection = await asyncpg.connect(running.database_url(name))
            await connection.execute("CREATE TABLE kept (word text)")
            await connection.execute("INSERT INTO kept VALUES ($1)", name)
            await connection.close()
        client = await nats.connect(running.nats_url)
        await client.jetstream().add_stream(name="KEPT", subjects=["kept.>"])
        await client.jetstream().publish("kept.one", b"word")
        await client.close()
    started = time.perf_counter()
    async with engines(new_home) as running:
        warm = time.perf_counter() - started
        for name in DATABASES:
            connection = await asyncpg.connect(running.database_url(name, tcp=True))
            assert await connection.fetchval("SELECT word FROM kept") == name
            await connection.close()
        client = await nats.connect(running.nats_url)
        message = await client.jetstream().get_msg("KEPT", 1)
        assert message.data == b"word"
        await client.close()
    with capsys.disabled():
        print(f"\nengines: cold start {cold:.2f} s, warm start {warm:.3f} s")
    assert cold < 20
    assert warm < 5


async def test_a_service_owns_its_database_and_is_no_superuser(home: Path) -> None:
    async with engines(home) as running:
        connection = await asyncpg.connect(running.database_url("planning"))
        assert await connection.fetchval("SELECT current_user") == "treadle"
        assert not await connection.fetchval("SELECT rolsuper FROM pg_roles WHERE rolname = current_user")
        await connection.execute("CREATE DATABASE another TEMPLATE planning")
        assert await connection.fetchval("SHOW fsync") == "on"
        assert await connection.fetchval("SHOW server_encoding") == "UTF8"
        await connection.close()


async def test_who_has_no_password_is_not_let_in(home: Path) -> None:
    async with engines(home) as running:
        for url in (running.database_url("threads"), running.database_url("threads", tcp=True)):
            user, rest = url.removeprefix("postgresql://").split(":", 1)
            wrong = f"postgresql://{user}:wrong@{rest.split('@', 1)[1]}"
            with pytest.raises(asyncpg.InvalidPasswordError):
                await asyncpg.connect(wrong)
        token, port = running.nats_url.removeprefix("nats://").split("@127.0.0.1:")
        assert await jetstream_answers(int(port), token)
        assert not await jetstream_answers(int(port), "")
        assert not await jetstream_answers(int(port), token[:-1])


async def test_passwords_and_data_are_for_their_owner_only(home: Path) -> None:
    async with engines(home) as running:
        secrets = list((home / "secrets").iterdir())
        assert len(secrets) == 3
        for file in (*secrets, home / "lock", home / "ports.json", *running.logs.iterdir()):
            assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
        for folder in (home / "secrets", home / "logs", running.data / "postgres", running.data / "nats"):
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700, folder
        words = [file.read_text() for file in secrets]
        logged = "".join(log.read_text() for log in running.logs.iterdir())
        assert not any(word in logged for word in words)


async def test_a_second_start_is_refused_and_names_the_folder_and_the_holder(home: Path) -> None:
    async with supervised(home) as first:
        with pytest.raises(HomeInUse) as refused:
            async with engines(home):
                pass
        assert refused.value.home == home
        assert refused.value.pid == first.process.pid
        assert str(home) in str(refused.value)
        assert str(first.process.pid) in str(refused.value)
        with pytest.raises(HomeInUse):
            discard(home)
        connection = await asyncpg.connect(first.said["postgres"])  # the first one is not disturbed
        await connection.close()


async def test_ports_are_the_ones_told_and_a_taken_one_is_refused(home: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        for settings in (EngineSettings(postgres_port=port), EngineSettings(nats_port=port)):
            with pytest.raises(PortTaken) as refused:
                async with engines(home, settings):
                    pass
            assert refused.value.port == port
    async with engines(home, EngineSettings(nats_port=port)) as running:
        assert running.nats_url.endswith(f":{port}")


async def test_ports_stay_from_one_start_to_the_next_unless_somebody_took_them(home: Path) -> None:
    async with engines(home) as running:
        first = (running.nats_url, running.database_url("threads"))
    async with engines(home) as running:
        assert (running.nats_url, running.database_url("threads")) == first
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", int(first[0].rsplit(":", 1)[1])))
        taken.listen()
        async with engines(home) as running:
            assert running.nats_url != first[0]


async def test_two_homes_run_side_by_side(home: Path, parent: Path) -> None:
    async with engines(home) as one, engines(parent / "second") as two:
        assert one.nats_url != two.nats_url
        connection = await asyncpg.connect(two.database_url("threads"))
        await connection.close()
    discard(parent / "second")


async def test_leaving_stops_the_children_also_when_cancelled(home: Path) -> None:
    pids: list[int] = []
    up = asyncio.Event()

    async def run() -> None:
        async with engines(home) as running:
            pids.extend((running.pid("postgres"), running.pid("nats")))
            up.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(run())
    await up.wait()
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()  # an impatient second one must not leave a child behind
    with pytest.raises(asyncio.CancelledError):
        await task
    await until_gone(*pids, seconds=0.1)


async def test_a_start_that_is_cancelled_leaves_nothing_running(new_home: Path) -> None:
    async def run() -> None:
        async with engines(new_home):
            raise AssertionError("it was not meant to get here")

    task = asyncio.create_task(run())
    while not (new_home / "logs" / "postgres.log").exists():
        await asyncio.sleep(0.001)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    async with engines(new_home) as running:
        connection = await asyncpg.connect(running.database_url("threads"))
        await connection.close()


async def test_the_log_of_the_run_before_is_kept_aside(new_home: Path) -> None:
    for _ in range(2):
        async with engines(new_home):
            pass
    logs = new_home / "logs"
    assert "initdb" not in (logs / "postgres.log").read_text()
    assert "running bootstrap script" in (logs / "postgres.log.1").read_text()


async def test_nats_syncs_as_told(home: Path) -> None:
    async with engines(home, EngineSettings(nats_sync_interval="always")) as running:
        assert '"sync_interval": "always"' in (running.data / "nats" / "nats.conf").read_text()
    with pytest.raises(EngineNotStarted, match="soon"):  # so the word reaches the server, which knows what it means
        async with engines(home, EngineSettings(nats_sync_interval="soon")):
            pass


def test_the_home_is_dot_treadle_unless_told() -> None:
    assert resolve_home(None) == Path.home().resolve() / ".treadle"
    assert resolve_home("") == Path.home().resolve() / ".treadle"
    assert resolve_home("~/x") == Path.home().resolve() / "x"
