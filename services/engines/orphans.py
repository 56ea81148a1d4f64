"""Servers that an earlier run left behind on a folder: found by their working folder, never by a pid file.

A pid file may be stale and its number somebody else's. A server of ours works in its data folder, as do all
its sub-processes, so who works there under our account and by that name is ours and nobody else is.
"""

import asyncio
import contextlib
import logging
import signal
import time
from pathlib import Path

import psutil

from services.engines.account import Account
from services.engines.child import Ladder
from services.engines.errors import OrphanStays

_log = logging.getLogger(__name__)
_GRACE_SECONDS = 3.0
_POLL_SECONDS = 0.03  # a look at all processes costs about 5 ms of the event loop


def at_work(program: str, folders: tuple[Path, ...], account: Account) -> list[psutil.Process]:
    """The processes called `program` of that account whose working folder is one of `folders`."""
    wanted = {str(folder.resolve()) for folder in folders}
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.name() == program and process.uids().effective == account.uid and process.cwd() in wanted:
                found.append(process)
    return found


async def clear(program: str, folders: tuple[Path, ...], account: Account, ladder: Ladder) -> int:
    """Returns once nobody works on the folders any more, with how many had to be sent a signal.

    One whose parent died is usually on its way out and gets a moment; then the heads of the process trees
    are taken down the ladder, and whatever is left is killed. Raises OrphanStays.
    """
    if await _gone(program, folders, account, _GRACE_SECONDS if at_work(program, folders, account) else 0):
        return 0
    signalled: set[int] = set()
    for sign, seconds in (*ladder, (signal.SIGKILL, 5.0)):
        left = at_work(program, folders, account)
        pids = {process.pid for process in left}
        for process in left:
            with contextlib.suppress(psutil.Error):
                if sign is signal.SIGKILL or process.ppid() not in pids:
                    _log.warning("stopping %s (process %d) that an earlier run left behind", program, process.pid)
                    process.send_signal(sign)
                    signalled.add(process.pid)
        if await _gone(program, folders, account, seconds):
            return len(signalled)
    left = at_work(program, folders, account)
    raise OrphanStays(program, folders[0], tuple(process.pid for process in left))


async def _gone(program: str, folders: tuple[Path, ...], account: Account, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while at_work(program, folders, account):
        if time.monotonic() >= end:
            return False
        await asyncio.sleep(_POLL_SECONDS)
    return True
