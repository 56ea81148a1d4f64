"""Homes for the engines: not pytest's `tmp_path`, whose parent root keeps to itself."""

import os
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from services.engines import discard, engines
from tests.integration.engines.supervised import NOBODY, discard_code, python_for_everybody

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can drop privileges, mount and change owners")
needs_python = pytest.mark.skipif(
    python_for_everybody() is None, reason="no Python of this version that an ordinary user may run"
)


@contextmanager
def passable_folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="treadle-test-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture
def parent() -> Iterator[Path]:
    """A folder that anybody may pass through."""
    with passable_folder() as folder:
        yield folder


@pytest.fixture
def new_home(parent: Path) -> Iterator[Path]:
    """A home that does not exist yet; thrown away with all its data."""
    folder = parent / "home"
    yield folder
    discard(folder)


@pytest.fixture(scope="session")
async def made_home() -> AsyncIterator[Path]:
    """A home that was started once."""
    with passable_folder() as folder:
        async with engines(folder / "home") as running:
            assert running.data == folder / "home"
        yield folder / "home"


@pytest.fixture
def home(new_home: Path, made_home: Path) -> Path:
    """A copy of that one, which is far quicker than to make one."""
    subprocess.run(["cp", "-a", made_home, new_home], check=True)
    (new_home / "ports.json").unlink()
    return new_home


@pytest.fixture
def nobodys(parent: Path) -> Path:
    """A folder of an ordinary user's."""
    folder = parent / "nobody"
    folder.mkdir(mode=0o700)
    os.chown(folder, NOBODY, NOBODY)
    return folder


@pytest.fixture(scope="session", autouse=True)
def no_code_left() -> Iterator[None]:
    yield
    discard_code()
