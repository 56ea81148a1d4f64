"""What a child of ours has started: found in /proc, so that nothing of it outlives it (design/streaming.md D2.5).

Children put commands in process groups of their own, so killing a child's group is not enough. Descendants are listed
before a kill; a mark in the environment finds those whose parent is gone already. The mark names the runner, so that
the next one on this machine also finds what the agents of a killed runner have left. A command of the action `shell`
has a mark of another name: it goes on where its runner is killed.
"""

from __future__ import annotations

import contextlib
import os
import signal
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

MARK: Final = "TREADLE_AGENT_MARK"
COMMAND_MARK: Final = "TREADLE_COMMAND_MARK"
_PROC: Final = Path("/proc")


@dataclass(frozen=True, slots=True)
class ProcessKey:
    """A process, told from a later one with the same number by its start."""

    pid: int
    started: str


def descendants(root: int) -> set[ProcessKey]:
    """Everything below the process, itself left out. Empty where there is no /proc."""
    parents = {pid: stat for pid in _pids() if (stat := _stat(pid)) is not None}
    found: set[int] = {root}
    grown = True
    while grown:
        below = {pid for pid, (parent, _) in parents.items() if parent in found} - found
        grown = bool(below)
        found |= below
    return {ProcessKey(pid, parents[pid][1]) for pid in found - {root} if pid in parents}


def marked(mark: str, variable: str = MARK) -> set[ProcessKey]:
    """Every process that has the mark in its environment."""
    return {process for process, its_mark in _marks(variable) if its_mark == mark}


def new_mark() -> str:
    """A mark for one child of this process: `pid.start.random`."""
    stat = _stat(os.getpid())
    return f"{os.getpid()}.{stat[1] if stat else 0}.{uuid.uuid4().hex}"


def strays() -> set[ProcessKey]:
    """Every marked process whose runner is gone."""
    return {process for process, mark in _marks(MARK) if not _is_alive(mark)}


def kill(processes: set[ProcessKey]) -> None:
    """SIGKILL for those that are still the same process."""
    for process in processes:
        stat = _stat(process.pid)
        if stat is not None and stat[1] == process.started:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process.pid, signal.SIGKILL)


def _marks(variable: str) -> Iterator[tuple[ProcessKey, str]]:
    prefix = f"{variable}=".encode()
    for pid in _pids():
        with contextlib.suppress(OSError):
            for entry in (_PROC / str(pid) / "environ").read_bytes().split(b"\0"):
                if entry.startswith(prefix) and (stat := _stat(pid)) is not None:
                    yield ProcessKey(pid, stat[1]), entry.removeprefix(prefix).decode("ascii", "replace")


def _is_alive(mark: str) -> bool:
    """Whether the runner that made the mark still runs; a mark that nobody of us made counts as alive."""
    pid, _, rest = mark.partition(".")
    started, dot, _ = rest.partition(".")
    if not (dot and pid.isdigit() and started.isdigit()):
        return True
    stat = _stat(int(pid))
    return stat is not None and stat[1] == started


def _pids() -> list[int]:
    try:
        return [int(name) for name in os.listdir(_PROC) if name.isdigit()]
    except OSError:
        return []


def _stat(pid: int) -> tuple[int, str] | None:
    """Parent and start time; None for one that has ended (a zombie counts as ended)."""
    try:
        fields = (_PROC / str(pid) / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if len(fields) < 20 or fields[0] == "Z" else (int(fields[1]), fields[19])
