"""Files that only their owner may read, written whole or not at all; the secrets among them."""

import os
import secrets
from pathlib import Path

from services.engines.errors import SecretMissing


def write_private(file: Path, text: str, owner: tuple[int, int]) -> None:
    """Replaces the file in one step with mode 0600; `owner` (uid, gid) counts for root only."""
    draft = file.with_name(file.name + ".new")
    draft.unlink(missing_ok=True)
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(fd, "w") as out:
        give(draft, owner)
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    draft.replace(file)
    sync_folder(file.parent)


def make_private_folder(folder: Path, owner: tuple[int, int]) -> Path:
    """The folder with mode 0700. Raises PermissionError when somebody else made it, OSError else."""
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if found.st_uid not in {owner[0], os.geteuid()}:
        raise PermissionError(f"{folder} belongs to user id {found.st_uid}")
    if folder.is_symlink():
        raise PermissionError(f"{folder} is a link")
    folder.chmod(0o700)
    give(folder, owner)
    return folder


def give(path: Path, owner: tuple[int, int]) -> None:
    if os.geteuid() == 0:
        os.chown(path, *owner, follow_symlinks=False)


def sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def secret(home: Path, name: str, owner: tuple[int, int], *, must_exist: bool) -> str:
    """A random word of 256 bits kept in `home/secrets/<name>`, made at the first call.

    Raises SecretMissing when the data it protects exists already and the secret does not.
    """
    file = make_private_folder(home / "secrets", owner) / name
    if file.exists():
        return file.read_text()
    if must_exist:
        raise SecretMissing(home, name)
    word = secrets.token_hex(32)
    write_private(file, word, owner)
    return word
