"""The folder of PostgreSQL's unix socket: under the temp folder, as a socket's path has 107 bytes at most."""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from services.engines.account import Account, can_enter
from services.engines.private_files import make_private_folder

LONGEST_SOCKET_PATH = 107
_LONGEST_NAME = len("/.s.PGSQL.65535.lock")


def socket_folder(data: Path, account: Account) -> Path | None:
    """A private, empty folder, the same for the same data; None where no temp folder is short and reachable.

    Call it once nobody works on the data: a stale socket with its lock file is removed here.
    """
    for temp in _temp_folders():
        folder = temp / _name(data)
        if len(os.fsencode(folder)) + _LONGEST_NAME > LONGEST_SOCKET_PATH or not can_enter(account, temp):
            continue
        try:
            make_private_folder(folder, (account.uid, account.gid))
            for stale in folder.iterdir():
                stale.unlink()
        except OSError:  # somebody else's, or not to be written: TCP does as well
            continue
        return folder
    return None


def forget_sockets(data: Path) -> None:
    """Removes what `socket_folder` made, once the server has stopped."""
    for temp in _temp_folders():
        shutil.rmtree(temp / _name(data), ignore_errors=True)


def _name(data: Path) -> str:
    return "treadle-" + hashlib.sha256(os.fsencode(data)).hexdigest()[:12]


def _temp_folders() -> Iterator[Path]:
    first = Path(tempfile.gettempdir())
    yield first
    if first != Path("/tmp"):
        yield Path("/tmp")
