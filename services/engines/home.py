"""The data folder: made private, held by one process at a time, checked for room before anything starts.

Refuses to know what is kept in it.
"""

import contextlib
import errno
import fcntl
import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from services.engines.errors import HomeFull, HomeInUse, HomeNotUsable, HomeNotWritable

DEFAULT_HOME = Path("~/.treadle")
_LONGEST_PATH = 900  # bytes; PostgreSQL cuts its own paths at 1,024
_LOCK = "lock"
_LEFT_BEHIND = 200
"""Looks, a hundredth of a second apart, at a lock whose holder is gone."""
_FULL = {errno.ENOSPC, errno.EDQUOT}
_FORBIDDEN = {errno.EROFS, errno.EACCES, errno.EPERM}


def resolve_home(home: Path | str | None) -> Path:
    """Absolute, links followed; `~/.treadle` when none is given. Raises HomeNotUsable."""
    given = Path(home) if home else DEFAULT_HOME
    try:
        resolved = given.expanduser().resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise HomeNotUsable(given, str(error)) from error
    if len(os.fsencode(resolved)) > _LONGEST_PATH:
        raise HomeNotUsable(resolved, f"its path is longer than {_LONGEST_PATH} bytes")
    return resolved


@contextlib.contextmanager
def hold(home: Path) -> Iterator[None]:
    """Makes the folder if need be and holds it until the end.

    Raises HomeInUse, HomeNotWritable, HomeFull, HomeNotUsable. The lock is the kernel's: it ends with the
    process, however that ends, so nothing stale can be left.
    """
    with refusals(home):
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        _refuse_open_house(home)
        fd = os.open(home / _LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        with refusals(home):
            _lock(home, fd)
            _write_pid(home, fd)
        yield
    finally:
        os.close(fd)


def _lock(home: Path, fd: int) -> None:
    """Raises HomeInUse. A holder that was killed just now may have left a child between fork and exec, which still has
    its descriptors: that is over in a moment, and waited for."""
    for _ in range(_LEFT_BEHIND):
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = _holder(fd)
            if _lives(holder):
                raise HomeInUse(home, holder) from None
            time.sleep(0.01)
        else:
            return
    raise HomeInUse(home, _holder(fd))


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return pid > 0


@contextlib.contextmanager
def refusals(home: Path) -> Iterator[None]:
    """Turns what the file system says into the refusal that names the folder."""
    try:
        yield
    except OSError as error:
        detail = error.strerror or str(error)
        where = f"{detail} ({error.filename})" if error.filename else detail
        if error.errno in _FULL:
            raise HomeFull(home) from error
        if error.errno in _FORBIDDEN or isinstance(error, PermissionError):
            raise HomeNotWritable(home, where) from error
        raise HomeNotUsable(home, where) from error


def require_room(home: Path, folder: Path, needed: int) -> None:
    """Raises HomeFull unless `needed` bytes are free around `folder`: better now than half way through."""
    found = os.statvfs(folder)
    free = found.f_bavail * found.f_frsize
    if free < needed:
        raise HomeFull(home, needed, free)


def rotate(log: Path, keep: int = 3) -> None:
    """Moves last run's log aside: `x.log` to `x.log.1`, and so on; the oldest is dropped."""
    if not log.exists():
        return
    for number in range(keep, 0, -1):
        older = log.with_name(f"{log.name}.{number - 1}") if number > 1 else log
        if older.exists():
            older.replace(log.with_name(f"{log.name}.{number}"))


def _refuse_open_house(home: Path) -> None:
    """In a folder that anybody may write without the sticky bit, others could swap our folders for theirs."""
    found = home.stat()
    if not os.access(home, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, "no permission to write", str(home))
    if found.st_mode & stat.S_IWOTH and not found.st_mode & stat.S_ISVTX:
        raise HomeNotUsable(home, "everybody may write there; take that right away or choose another folder")


def _write_pid(home: Path, fd: int) -> None:
    if os.geteuid() == 0:
        owner = home.stat()
        os.fchown(fd, owner.st_uid, owner.st_gid)
    os.ftruncate(fd, 0)
    os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)


def _holder(fd: int) -> int:
    """Who wrote the lock file; the holder may be between taking the lock and writing its number."""
    for _ in range(20):
        text = os.pread(fd, 32, 0).strip()
        if text.isdigit():
            return int(text)
        time.sleep(0.005)
    return 0
