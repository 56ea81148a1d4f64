"""Folders that cannot serve, or only just: each gets a clear refusal or works."""

# ruff: noqa: ASYNC221, ASYNC240 - a test's own files and processes may block it

import asyncio
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import asyncpg
import pytest

from services.engines import HomeFull, HomeNotUsable, HomeNotWritable, RestartFailed, SecretMissing, discard, engines
from services.engines.sockets import LONGEST_SOCKET_PATH
from tests.integration.engines.conftest import needs_python, needs_root
from tests.integration.engines.supervised import NOBODY, supervised


@contextmanager
def mounted(folder: Path, options: str) -> Iterator[None]:
    folder.mkdir(exist_ok=True)
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], capture_output=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"cannot mount here: {done.stderr.decode().strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", folder], check=True)


@needs_root
async def test_a_read_only_folder_is_refused_by_name(new_home: Path) -> None:
    with mounted(new_home, "ro,mode=755"):
        with pytest.raises(HomeNotWritable) as refused:
            async with engines(new_home):
                pass
        assert refused.value.home == new_home
        assert str(new_home) in str(refused.value)


@needs_root
async def test_a_folder_that_became_read_only_is_refused_by_name(new_home: Path) -> None:
    with mounted(new_home, "size=400m,mode=755"):
        async with engines(new_home):
            pass
        subprocess.run(["mount", "-o", "remount,ro", new_home], check=True)
        with pytest.raises(HomeNotWritable):
            async with engines(new_home):
                pass


@needs_root
async def test_a_full_folder_is_refused_with_the_sizes(new_home: Path) -> None:
    with mounted(new_home, "size=8m,mode=755"):
        with pytest.raises(HomeFull) as refused:
            async with engines(new_home):
                pass
        assert refused.value.home == new_home
        assert refused.value.free < refused.value.needed
        assert "full" in str(refused.value)
        assert str(new_home) in str(refused.value)


@needs_root
async def test_a_folder_without_a_single_free_byte_is_refused_as_full(new_home: Path) -> None:
    with mounted(new_home, "size=64k,mode=755"):
        fill(new_home / "filler")
        with pytest.raises(HomeFull):
            async with engines(new_home):
                pass


@needs_root
async def test_a_folder_that_filled_up_is_refused_and_works_again_once_there_is_room(new_home: Path) -> None:
    with mounted(new_home, "size=400m,mode=755"):
        async with engines(new_home) as running:
            connection = await asyncpg.connect(running.database_url("threads"))
            await connection.execute("CREATE TABLE kept AS SELECT 1 AS n")
            await connection.close()
        fill(new_home / "filler")
        with pytest.raises(HomeFull):
            async with engines(new_home):
                pass
        (new_home / "filler").unlink()
        async with engines(new_home) as running:
            connection = await asyncpg.connect(running.database_url("threads"))
            assert await connection.fetchval("SELECT n FROM kept") == 1
            await connection.close()


@needs_root
async def test_a_folder_that_fills_up_while_it_runs_loses_nothing_and_goes_on_once_there_is_room(
    new_home: Path,
) -> None:
    with mounted(new_home, "size=300m,mode=755"):
        async with engines(new_home) as running:
            url, watch = running.database_url("threads"), running.watch()
            await ask(url, "CREATE TABLE kept (n int, padding text)")
            fill(new_home / "filler")
            confirmed = await write_until_refused(url)
            if (await ask(url, "SELECT 1")) is None:  # PostgreSQL itself gave up, as it does without room for its WAL
                async with asyncio.timeout(30):
                    while not isinstance(event := await watch.next(), RestartFailed):
                        pass
                    assert "full" in event.reason
            (new_home / "filler").unlink()
            async with asyncio.timeout(30):
                while (count := await ask(url, "SELECT count(*) FROM kept")) is None:
                    await asyncio.sleep(0.05)
            assert isinstance(count, int)
            assert count >= confirmed


# 32,768 rows of 32 characters: a megabyte once put together.
SERIES = "FROM generate_series(1, 32768) AS i"


async def write_until_refused(url: str) -> int:
    """How many rows of a megabyte each were confirmed before one was not."""
    for number in range(1000):
        if await ask(url, f"INSERT INTO kept SELECT {number}, string_agg(md5(i::text), '') {SERIES}") is None:
            return number
    raise AssertionError("the folder was not full")


async def ask(url: str, statement: str) -> object:
    """The answer, `done` when there is none, None when it was refused or nobody is there."""
    try:
        connection = await asyncpg.connect(url, timeout=5)
        try:
            found = await connection.fetch(statement)
        finally:
            await connection.close()
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
        return None
    return found[0][0] if found else "done"


def fill(file: Path) -> None:
    with file.open("wb", buffering=0) as out:
        for size in (1 << 20, 4096, 1):
            try:
                while True:
                    out.write(b"\0" * size)
            except OSError:
                continue


@needs_root
@needs_python
async def test_an_ordinary_user_is_refused_where_it_may_not_write(parent: Path) -> None:
    theirs = parent / "of-root"
    theirs.mkdir(mode=0o755)
    for home in (theirs, theirs / "below"):
        async with supervised(home, uid=NOBODY) as refused:
            assert refused.said["error"] == "HomeNotWritable"
            assert str(home) in refused.said["text"]


@pytest.mark.parametrize("name", ["with space and naïve-日本語-Ω", "quo'te\"and\\back,comma=%41&?#hash"])
async def test_any_name_of_a_folder_works(parent: Path, name: str) -> None:
    await works(parent / name)


async def test_a_path_far_longer_than_a_socket_may_have_works(parent: Path) -> None:
    folder = parent
    while len(os.fsencode(folder)) < 600:
        folder = folder / ("long" * 30)
    await works(folder)


async def test_a_path_that_postgres_cannot_hold_is_refused(parent: Path) -> None:
    with pytest.raises(HomeNotUsable, match="longer than"):
        async with engines(parent / "/".join(["long" * 30] * 9)):
            pass
    with pytest.raises(HomeNotUsable):
        async with engines(parent / ("x" * 300)):
            pass


async def test_a_temp_folder_with_a_long_path_gets_its_socket_elsewhere(home: Path, parent: Path) -> None:
    deep = parent / ("t" * 100)
    deep.mkdir(mode=0o777)
    deep.chmod(0o777)
    before = tempfile.tempdir
    tempfile.tempdir = str(deep)
    try:
        async with engines(home) as running:
            connection = await asyncpg.connect(running.admin_url("threads"))
            where = await connection.fetchval("SELECT current_setting('unix_socket_directories')")
            assert len(where) <= LONGEST_SOCKET_PATH
            assert str(deep) not in where
            await connection.close()
    finally:
        tempfile.tempdir = before


async def works(home: Path) -> None:
    for _ in range(2):
        async with engines(home) as running:
            connection = await asyncpg.connect(running.database_url("streaming"))
            assert await connection.fetchval("SELECT 1") == 1
            await connection.close()
    discard(home)


async def test_a_link_to_a_folder_is_that_folder(new_home: Path, parent: Path) -> None:
    new_home.mkdir()
    (parent / "link").symlink_to(new_home)
    async with engines(parent / "link") as running:
        assert running.home == new_home


async def test_a_file_in_place_of_the_folder_is_refused(parent: Path) -> None:
    (parent / "file").write_text("no folder")
    for home in (parent / "file", parent / "file" / "below"):
        with pytest.raises(HomeNotUsable) as refused:
            async with engines(home):
                pass
        assert str(home) in str(refused.value)


async def test_a_folder_that_everybody_may_write_is_refused(new_home: Path) -> None:
    new_home.mkdir()
    new_home.chmod(0o777)
    with pytest.raises(HomeNotUsable, match="everybody"):
        async with engines(new_home):
            pass
    new_home.chmod(0o755)


async def test_a_lost_password_is_told_before_anything_is_started(home: Path) -> None:
    async with engines(home):
        pass
    shutil.rmtree(home / "secrets")
    with pytest.raises(SecretMissing, match="postgres"):
        async with engines(home):
            pass
