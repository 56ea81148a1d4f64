"""How figures are shown: a table for people, one JSON file with every sample for whoever compares runs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, assert_never

from rich.console import Console
from rich.table import Table

from tests.bench.figures import AtLeast, AtMost, Figure, RatioAtLeast, Target


def show(figures: Sequence[Figure], console: Console) -> None:
    """The table."""
    table = Table(title="Treadle's benchmarks (design/quality.md)", title_justify="left")
    for name in ("row", "what"):
        table.add_column(name)
    for name in ("value", "raw", "ratio", "target"):
        table.add_column(name, justify="right")
    table.add_column("")
    for figure in figures:
        table.add_row(
            figure.row,
            figure.what,
            _quantity(figure.value, figure.unit),
            "–" if figure.raw is None else _quantity(figure.raw, figure.unit),
            "–" if figure.ratio is None else f"{figure.ratio:.2f}",
            target_text(figure.target, figure.unit),
            {True: "[green]ok[/]", False: "[red]short[/]", None: ""}[figure.met],
        )
    console.print(table)


def write(path: Path, figures: Sequence[Figure], about: dict[str, Any]) -> None:
    """Writes the JSON file; makes its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**about, "figures": [_plain(figure) for figure in figures]}, indent=1) + "\n")


def file_name(begun: datetime) -> str:
    """Of the JSON file, sortable."""
    return f"{begun:%Y-%m-%dT%H%M%SZ}.json"


def target_text(target: Target | None, unit: str) -> str:
    """The target as the design writes it."""
    match target:
        case None:
            return "–"
        case RatioAtLeast(least):
            return f"≥ {least:g} × raw"
        case AtLeast(least):
            return f"≥ {_quantity(least, unit)}"
        case AtMost(most):
            return f"≤ {_quantity(most, unit)}"
        case other:
            assert_never(other)


def _quantity(number: float, unit: str) -> str:
    shown = f"{number:,.0f}" if abs(number) >= 1000 or number == int(number) else f"{number:.3g}"
    return f"{shown}{'' if unit.startswith('/') else ' '}{unit}"


def _plain(figure: Figure) -> dict[str, Any]:
    return {
        "row": figure.row,
        "what": figure.what,
        "unit": figure.unit,
        "value": figure.value,
        "raw": figure.raw,
        "ratio": figure.ratio,
        "target": target_text(figure.target, figure.unit),
        "met": figure.met,
        "values": figure.values,
        "raws": figure.raws,
        "details": figure.details,
    }
