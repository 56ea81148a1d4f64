"""`python -m tests.bench [B1 …]`: runs rows, prints their table, writes bench-results/<date>.json. Exit code 1 when a
row could not be measured; a figure that falls short is said, and is no failure of the run."""

from __future__ import annotations

import argparse
import logging
import os
import shutil
import sys
import tempfile
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Final

import uvloop
from rich.console import Console

from services.kernel import telemetry
from tests.bench import machine, report
from tests.bench.figures import Figure
from tests.bench.rows import ROWS, load
from tests.bench.sse_readers import raise_open_files
from tests.bench.workbench import Workbench

_QUIET_PERCENT: Final = 15.0


def main() -> int:
    """Parses arguments and runs."""
    options = _arguments()
    console = Console(width=None if sys.stdout.isatty() else 130)
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")  # it warns at each fork of a process that has channels
    logging.disable(logging.CRITICAL)
    telemetry.configure_logging("error", "console", sys.stderr)
    raise_open_files()
    begun = datetime.now(UTC)
    about = {
        "begun": begun.isoformat(timespec="seconds"),
        "rounds": options.rounds,
        "quick": options.quick,
        "machine": machine.facts(),
    }
    run = _run(options, console)
    path = options.out / report.file_name(begun)
    ended = datetime.now(UTC).isoformat(timespec="seconds")
    report.write(path, run.figures, {**about, "ended": ended, "others_percent": run.others, "failures": run.failures})
    report.show(run.figures, console)
    console.print(f"{options.rounds} rounds, medians; every sample is in {path}")
    if run.disturbed:
        console.print(
            f"[yellow]Others used {run.disturbed:.0f} % of the processors between rounds[/] (median): times and rates "
            "are worse than this machine can, ratios less so."
        )
    for row, text in run.failures.items():
        console.print(f"[red]{row} could not be measured[/]: {text}")
    return 1 if run.failures else 0


@dataclass(slots=True)
class _Run:
    """`others`: per row, what else the machine was doing before each round, in per cent of its processors."""

    figures: list[Figure] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)
    others: dict[str, list[float]] = field(default_factory=dict)

    @property
    def disturbed(self) -> float:
        """The median of `others` where it is worth a word, else 0."""
        seen = [percent for row in self.others.values() for percent in row]
        middle = median(seen) if seen else 0.0
        return middle if middle > _QUIET_PERCENT else 0.0


def _run(options: argparse.Namespace, console: Console) -> _Run:
    run = _Run()
    folder = Path(tempfile.mkdtemp(prefix="treadle-bench-"))
    folder.chmod(0o755)  # engines that run as another user must get through
    try:
        for name in options.rows or ROWS:
            bench = Workbench(
                options.rounds, options.quick, folder, lambda text: console.print(text, style="dim"), options.profile
            )
            try:
                row = load(name)
                console.print(f"[bold]{name}[/] {row.about}")
                run.figures += uvloop.run(row.measure(bench))
            except Exception as fault:
                run.failures[name] = f"{type(fault).__name__}: {fault}"
                console.print_exception(max_frames=8)
            run.others[name] = bench.others
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return run


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description="Treadle's benchmarks.")
    parser.add_argument("rows", nargs="*", type=str.upper, choices=[*ROWS, []], metavar="ROW", help=", ".join(ROWS))
    parser.add_argument(
        "--rounds", type=int, default=int(os.environ.get("TREADLE_BENCH_ROUNDS", "5")), help="5 by default"
    )
    parser.add_argument("--quick", action="store_true", help="small loads, for trying the benchmarks themselves")
    parser.add_argument("--out", type=Path, default=Path("bench-results"), help="folder of the JSON files")
    parser.add_argument("--profile", type=Path, help="deployables run under cProfile and leave their statistics here")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
