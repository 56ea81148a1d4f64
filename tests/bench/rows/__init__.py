"""One module a row, each with ABOUT and `measure(bench) -> figures`. Loaded when it is its turn: what is broken for one
row does not keep the others from being measured."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Final

from tests.bench.figures import Figure
from tests.bench.workbench import Workbench

ROWS: Final = {
    "B1": "b1_decisions",
    "B2": "b2_create",
    "B3": "b3_ends",
    "B4": "b4_hoist",
    "B5": "b5_fan_out",
    "B6": "b6_attach",
    "B7": "b7_decision_to_event",
    "B8": "b8_branches",
    "B9": "b9_up",
    "B10": "b10_dispatch",
}
"""Row of the table of design/quality.md to its module here, in the order in which they run."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row that is loaded."""

    about: str
    measure: Callable[[Workbench], Coroutine[Any, Any, list[Figure]]]


def load(name: str) -> Row:
    """The row's module as a Row. Raises what importing it raises."""
    module = importlib.import_module(f"{__name__}.{ROWS[name]}")
    return Row(module.ABOUT, module.measure)
