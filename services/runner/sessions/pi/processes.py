"""What an agent's child has started: found in /proc, so that nothing of it outlives it (design/streaming.md D2.5).

Pi puts each command in a process group of its own, so killing the child's group is not enough. Descendants are listed
before a kill; a mark in the environment finds those whose parent is gone already.
"""

from __future__ import annotations

import contextlib
import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Final

MARK: Final = "TREADLE_AGENT_MARK"
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


def marked(mark: str) -> set[ProcessKey]:
    """Every process that has the mark in its environment."""
    needle = f"{MARK}={mark}".encode()
    found = set()
    for pid in _pids():
        with contextlib.suppress(OSError):
            if needle in (_PROC / str(pid) / "environ").read_bytes().split(b"\0"):
                stat = _stat(pid)
                if stat is not None:
                    found.add(ProcessKey(pid, stat[1]))
    return found


def kill(processes: set[ProcessKey]) -> None:
    """SIGKILL for those that are still the same process."""
    for process in processes:
        stat = _stat(process.pid)
        if stat is not None and stat[1] == process.started:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process.pid, signal.SIGKILL)


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
