"""One module a row. Each has ROW, ABOUT, and `measure(bench) -> figures`."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from tests.bench.figures import Figure
from tests.bench.rows import (
    b1_decisions,
    b2_create,
    b5_fan_out,
    b6_attach,
    b7_decision_to_event,
    b9_up,
)
from tests.bench.workbench import Workbench


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table of design/quality.md."""

    name: str
    about: str
    measure: Callable[[Workbench], Coroutine[Any, Any, list[Figure]]]


_MODULES = (b1_decisions, b2_create, b5_fan_out, b6_attach, b7_decision_to_event, b9_up)
ROWS = {module.ROW: Row(module.ROW, module.ABOUT, module.measure) for module in _MODULES}
