"""The folder that file actions may write to. Owns the one safe way in: component by component, no link followed.

Knows nothing of actions or threads. The check and the use are the same system calls, so a link that appears in
between is refused as well (no path is ever resolved and then opened).
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from services.runner.domain.failure import Code, Failed

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK: a FIFO or device that waits there is refused instead of waited for.
_FILE = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_LINK_OR_WRONG_KIND = {errno.ELOOP, errno.EMLINK, errno.ENOTDIR, errno.EISDIR, errno.ENXIO, errno.ENAMETOOLONG}
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_READ_ONLY = {errno.EACCES, errno.EPERM, errno.EROFS}


@dataclass(frozen=True, slots=True)
class Appended:
    """Where the bytes went: the path as given, their offset in the file and their number."""

    path: str
    offset: int
    size: int


class FilesFolder:
    """A folder of text files. Created when first used."""

    def __init__(self, root: Path, *, most_file_bytes: int = 64 * 1024 * 1024) -> None:
        self._root = root
        self._most = most_file_bytes

    def append(self, path: str, data: bytes) -> Appended:
        """Appends `data` in one write and syncs it; blocking, call it from a thread.

        Either all of it is there, or the file is as before. Raises Failed: path_refused, too_large, disk_full,
        not_writable, file_busy (somebody holds the file's lock: try again).
        """
        names = components(path)
        with _named_faults(), contextlib.ExitStack() as open_files:
            folder = self._open_root(open_files)
            for name in names[:-1]:
                folder = _open_folder(folder, name, open_files)
            file = os.open(names[-1], _FILE, 0o644, dir_fd=folder)
            open_files.callback(os.close, file)
            _refuse_unless_regular(file)
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(file).st_nlink == 0:
                raise Failed(Code.FILE_BUSY, "the file was replaced while its lock was waited for")
            offset = os.fstat(file).st_size
            if offset + len(data) > self._most:
                raise Failed(Code.TOO_LARGE, f"the file would grow past {self._most} bytes")
            _write_whole(file, data, offset)
            os.fsync(folder)
            return Appended(path, offset, len(data))

    def rewrite(self, path: str, change: Callable[[bytes], bytes | None]) -> bool:
        """Replaces a file's content by what `change` makes of it, in one step; None leaves it, and answers False.

        Blocking. The file is as before or as after, never in between. Raises Failed as `append` does, and not_readable.
        """
        names = components(path)
        with contextlib.ExitStack() as open_files:
            with _named_faults(reading=True):
                folder = self._open_root(open_files)
                for name in names[:-1]:
                    folder = os.open(name, _FOLDER, dir_fd=folder)
                    open_files.callback(os.close, folder)
                file = os.open(names[-1], _READ, dir_fd=folder)
                open_files.callback(os.close, file)
                _refuse_unless_regular(file)
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                before = self._content(file)
            after = change(before)
            if after is None:
                return False
            with _named_faults():
                _replace(folder, names[-1], after, os.fstat(file).st_mode)
            return True

    def _content(self, file: int) -> bytes:
        status = os.fstat(file)
        if status.st_nlink == 0:
            raise Failed(Code.FILE_BUSY, "the file was replaced while its lock was waited for")
        if status.st_size > self._most:
            raise Failed(Code.TOO_LARGE, f"the file is larger than {self._most} bytes")
        with os.fdopen(os.dup(file), "rb") as opened:
            return opened.read()

    def _open_root(self, open_files: contextlib.ExitStack) -> int:
        """The root may be a link: whoever set it is trusted; what is below is not."""
        self._root.mkdir(parents=True, exist_ok=True)
        root = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        open_files.callback(os.close, root)
        return root


def components(path: str) -> list[str]:
    """The names of a relative path, or path_refused: absolute, empty, `.`, `..`, control characters, backslashes."""
    if path.startswith(("/", "~")) or "\\" in path or any(ord(c) < 32 or ord(c) == 127 for c in path):
        raise Failed(Code.PATH_REFUSED, f"not a plain relative path: {path!r}")
    names = path.split("/")
    if any(name in ("", ".", "..") or name != name.strip() for name in names):
        raise Failed(Code.PATH_REFUSED, f"not a plain relative path: {path!r}")
    return names


def _open_folder(parent: int, name: str, open_files: contextlib.ExitStack) -> int:
    with contextlib.suppress(FileExistsError):
        os.mkdir(name, 0o755, dir_fd=parent)
        os.fsync(parent)
    folder = os.open(name, _FOLDER, dir_fd=parent)
    open_files.callback(os.close, folder)
    return folder


def _refuse_unless_regular(file: int) -> None:
    if not stat.S_ISREG(os.fstat(file).st_mode):
        raise Failed(Code.PATH_REFUSED, "not a regular file")


def _write_whole(file: int, data: bytes, offset: int) -> None:
    """One write; a short one (a full disk) is taken back under the file's lock, so nothing is half there (I7)."""
    try:
        written = os.write(file, data)
        if written != len(data):
            raise Failed(Code.DISK_FULL, f"{written} of {len(data)} bytes fitted")
        os.fsync(file)
    except (OSError, Failed):
        os.ftruncate(file, offset)
        raise


def _replace(folder: int, name: str, content: bytes, mode: int) -> None:
    """A new file under a name of its own, synced, then in the place of the old one: whoever waits for the old one's
    lock sees that it has no name any more.
    """
    made = f".{name[:100]}.{secrets.token_hex(6)}"
    new = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder)
    try:
        with os.fdopen(new, "wb") as opened:
            opened.write(content)
            opened.flush()
            os.fchmod(opened.fileno(), stat.S_IMODE(mode))
            os.fsync(opened.fileno())
        os.rename(made, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(made, dir_fd=folder)
        raise
    os.fsync(folder)


@contextlib.contextmanager
def _named_faults(*, reading: bool = False) -> Iterator[None]:
    """Turns the system's errors into codes; what has no name stays an OSError and becomes action_failed."""
    try:
        yield
    except BlockingIOError as fault:
        raise Failed(Code.FILE_BUSY, str(fault)) from fault
    except (OSError, UnicodeEncodeError) as fault:
        raise Failed(_code_of(fault, reading=reading), str(fault)) from fault


def _code_of(fault: OSError | UnicodeEncodeError, *, reading: bool) -> Code:
    if isinstance(fault, UnicodeEncodeError) or fault.errno in _LINK_OR_WRONG_KIND:
        return Code.PATH_REFUSED
    if fault.errno in _FULL:
        return Code.DISK_FULL
    if reading:
        return Code.NOT_READABLE
    return Code.NOT_WRITABLE if fault.errno in _READ_ONLY else Code.ACTION_FAILED
