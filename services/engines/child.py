"""One engine as a foreground child process: start, wait, stop. Knows nothing of what the program is."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from services.engines.account import Account
from services.engines.private_files import give

_EXEC = Path(__file__).with_name("child_exec.py")
_POLL_SECONDS = 0.02
_TAIL_BYTES = 4096

Ladder = tuple[tuple[signal.Signals, float], ...]


@dataclass(frozen=True, slots=True)
class ChildPlan:
    """`ladder` is how it is asked to stop: each signal with the seconds it is given.
    `death_signal` is what the kernel sends it when we die (Linux; elsewhere the next start clears up).
    """

    command: tuple[str, ...]
    cwd: Path
    account: Account
    log: Path
    log_owner: tuple[int, int]
    death_signal: signal.Signals
    ladder: Ladder
    environment: Mapping[str, str]


class Child:
    """Started on construction; its output goes to the plan's log file. Stop it before letting go of it."""

    def __init__(self, plan: ChildPlan) -> None:
        if threading.current_thread() is not threading.main_thread():
            raise RuntimeError("engines are started from the main thread: they die with the thread that started them")
        self._plan = plan
        uid, gid = plan.account.change
        shim = (sys.executable, "-I", "-S", str(_EXEC), str(os.getpid()), str(uid), str(gid))
        with open(plan.log, "ab", opener=_private) as log:
            give(plan.log, plan.log_owner)
            self._log_start = os.fstat(log.fileno()).st_size
            self._process = subprocess.Popen(
                (*shim, str(int(plan.death_signal)), *plan.command),
                cwd=plan.cwd,
                env=dict(plan.environment),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C is ours to pass on, in our order
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """None while it runs; minus the signal's number when one ended it."""
        return self._process.poll()

    async def wait(self) -> int:
        """Its exit code, once it has ended."""
        with contextlib.suppress(OSError, AttributeError, NotImplementedError):
            if self._process.poll() is None:
                await _ended(os.pidfd_open(self.pid))
        while (code := self._process.poll()) is None:  # noqa: ASYNC110 - no pidfd here: only asking is left
            await asyncio.sleep(_POLL_SECONDS)
        return code

    async def stop(self) -> None:
        """Goes down the ladder until it has ended."""
        for sign, seconds in self._plan.ladder:
            if self._process.poll() is not None:
                return
            self._process.send_signal(sign)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.wait(), seconds)

    def output(self) -> str:
        """The end of what this child wrote, 4 KiB at most."""
        with contextlib.suppress(OSError), self._plan.log.open("rb") as log:
            size = log.seek(0, os.SEEK_END)
            log.seek(max(self._log_start, size - _TAIL_BYTES))
            return log.read(_TAIL_BYTES).decode(errors="replace")
        return ""


def clean_environment() -> dict[str, str]:
    """Nothing of ours leaks into an engine: PGPORT, TZ or a proxy variable must not change how it runs."""
    kept = ("PATH", "LD_LIBRARY_PATH")
    return {name: os.environ[name] for name in kept if name in os.environ} | {"LC_ALL": "C", "TZ": "UTC"}


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


async def _ended(fd: int) -> None:
    """Waits until the process behind a pidfd has ended, and closes it."""
    loop = asyncio.get_running_loop()
    done = asyncio.Event()
    try:
        loop.add_reader(fd, done.set)
        try:
            await done.wait()
        finally:
            loop.remove_reader(fd)
    finally:
        os.close(fd)
