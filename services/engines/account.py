"""Under which account the engines run, and what that account can reach.

Root is dropped always: PostgreSQL refuses it and NATS does not need it. Mode bits decide; ACLs are not read.
"""

import os
import pwd
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from services.engines.errors import AccountNotFound

# `treadle` is for whoever wants an account of its own; nobody is on every system.
_WHEN_ROOT = ("treadle", "nobody")


@dataclass(frozen=True, slots=True)
class Account:
    uid: int
    gid: int
    drop: bool
    """Whether a child must change to this account, or runs under it already."""

    @property
    def change(self) -> tuple[int, int]:
        """Uid and gid to change to; -1 says stay."""
        return (self.uid, self.gid) if self.drop else (-1, -1)


def is_root() -> bool:
    return os.geteuid() == 0


def choose_account(name: str | None, owners: tuple[int, ...]) -> Account:
    """The account for the children. `owners` are uids that existing folders belong to, best first:
    data that exists keeps its owner, so that root and an ordinary user may start the same folder in turn.

    Raises AccountNotFound.
    """
    if not is_root():
        uid = os.geteuid()
        if _entry(uid) is None:
            raise AccountNotFound(f"user id {uid} has no name on this system, and PostgreSQL insists on one")
        return Account(uid, os.getegid(), drop=False)
    for uid in owners:
        entry = _entry(uid) if uid else None
        if entry:
            return Account(entry.pw_uid, entry.pw_gid, drop=True)
    for candidate in (name,) if name else _WHEN_ROOT:
        try:
            entry = pwd.getpwnam(candidate)
        except KeyError:
            continue
        if entry.pw_uid:
            return Account(entry.pw_uid, entry.pw_gid, drop=True)
    wanted = name or " or ".join(_WHEN_ROOT)
    raise AccountNotFound(f"started as root, which PostgreSQL refuses, and there is no ordinary account {wanted}")


def can_enter(account: Account, folder: Path) -> bool:
    """Whether the account gets into `folder`: search permission on it and on all its parents."""
    return all(_allows(account, step, 0o1) for step in _way(folder))


def can_read(account: Account, file: Path, *, execute: bool = False) -> bool:
    """Whether the account can read (and run) a file, wherever links lead."""
    real = file.resolve()
    return can_enter(account, real.parent) and _allows(account, real, 0o5 if execute else 0o4)


def _way(folder: Path) -> Iterator[Path]:
    real = folder.resolve()
    yield from reversed(real.parents)
    yield real


def _allows(account: Account, path: Path, bits: int) -> bool:
    try:
        found = path.stat()
    except OSError:
        return False
    mode = stat.S_IMODE(found.st_mode)
    if found.st_uid == account.uid:
        granted = mode >> 6
    elif found.st_gid == account.gid:
        granted = mode >> 3
    else:
        granted = mode
    return granted & bits == bits


def _entry(uid: int) -> pwd.struct_passwd | None:
    try:
        return pwd.getpwuid(uid)
    except KeyError:
        return None
