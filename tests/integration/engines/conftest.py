"""Homes for the engines: not pytest's `tmp_path`, whose parent root keeps to itself."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from services.engines import discard
from tests.integration.engines.supervised import NOBODY, discard_code, python_for_everybody

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can drop privileges, mount and change owners")
needs_python = pytest.mark.skipif(
    python_for_everybody() is None, reason="no Python of this version that an ordinary user may run"
)


@pytest.fixture
def parent() -> Iterator[Path]:
    """A folder that anybody may pass through."""
    with tempfile.TemporaryDirectory(prefix="treadle-test-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture
def home(parent: Path) -> Iterator[Path]:
    """A home that does not exist yet; thrown away with all its data."""
    folder = parent / "home"
    yield folder
    discard(folder)


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
