"""Where the engines' data lies: in the home, unless the account they run under cannot get there.

Then under /var/lib/treadle, and the home says where. Once chosen the place stays: data never seems to vanish
because a folder's permissions changed. (design/quality.md, row "embedded Postgres")
"""

import contextlib
import hashlib
import os
import secrets
import stat
from dataclasses import dataclass
from pathlib import Path

from services.engines.account import Account, can_enter, choose_account
from services.engines.errors import HomeNotUsable
from services.engines.private_files import make_private_folder, write_private

SHARED_ROOT = Path("/var/lib/treadle")
_POINTER = "data-folder"
_OURS = {"lock", "secrets", "logs", "postgres", "nats", "ports.json", _POINTER}


@dataclass(frozen=True, slots=True)
class Place:
    """`data` holds the engines' folders, `owner` (uid, gid) is whose the home is."""

    home: Path
    data: Path
    account: Account
    owner: tuple[int, int]

    @property
    def logs(self) -> Path:
        return self.home / "logs"


def find_place(home: Path, account_name: str | None) -> Place:
    """Call it while holding the home. Raises HomeNotUsable, AccountNotFound, OSError."""
    found = home.stat()
    owner = (found.st_uid, found.st_gid)
    data = pointed(home) or home
    account = choose_account(account_name, (_owner_of(data / "postgres"), found.st_uid))
    if not (home / _POINTER).exists() and not _opened(home, account):
        if (home / "postgres").exists():
            raise HomeNotUsable(home, f"its database belongs to user id {account.uid}, which cannot reach it there")
        data = shared_root() / _name(home)
        data.mkdir(mode=0o711, exist_ok=True)
        data.chmod(0o711)
        write_private(home / _POINTER, str(data), owner)
    make_private_folder(home / "logs", owner)
    return Place(home, data, account, owner)


def shared_root() -> Path:
    """/var/lib/treadle, made if need be. Raises HomeNotUsable when others than root may write there."""
    SHARED_ROOT.mkdir(mode=0o755, parents=True, exist_ok=True)
    found = SHARED_ROOT.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != 0 or found.st_mode & 0o022:
        raise HomeNotUsable(SHARED_ROOT, "it is not a folder that belongs to root alone")
    SHARED_ROOT.chmod(0o755)
    return SHARED_ROOT


def _opened(home: Path, account: Account) -> bool:
    """Whether the account reaches the home. One of root's, ours alone, may become 0711; parents never."""
    if can_enter(account, home):
        return True
    if not account.drop or not can_enter(account, home.parent) or not _is_ours(home):
        return False
    home.chmod(stat.S_IMODE(home.stat().st_mode) | 0o011)
    return True


def _is_ours(home: Path) -> bool:
    return home.stat().st_uid == 0 and {entry.name for entry in home.iterdir()} <= _OURS


def pointed(home: Path) -> Path | None:
    """The folder that the home says its data is in; None where that is the home itself. Raises HomeNotUsable."""
    with contextlib.suppress(FileNotFoundError):
        data = Path((home / _POINTER).read_text())
        if data.parent != SHARED_ROOT or not data.is_dir():
            raise HomeNotUsable(home, f"its file {_POINTER} names {data}, which is not there")
        return data
    return None


def _name(home: Path) -> str:
    """New for every new home, also one at the path of a deleted one: its data is not ours to revive."""
    return hashlib.sha256(os.fsencode(home) + secrets.token_bytes(16)).hexdigest()[:16]


def _owner_of(folder: Path) -> int:
    with contextlib.suppress(OSError):
        return folder.stat().st_uid
    return 0
