"""Statuses as a table, cell by cell (A2): an end stays, and only `unknown` is replaced by anything."""

from __future__ import annotations

import pytest

from services.coordination.domain.worker import ENDS, STATUS_OF, Reason, Status, may_follow

TABLE = {
    #                spawn  run    succ   fail   canc   intr   unkn
    "spawning":    (False, True,  True,  True,  True,  True,  True),
    "running":     (False, False, True,  True,  True,  True,  True),
    "succeeded":   (False, False, False, False, False, False, False),
    "failed":      (False, False, False, False, False, False, False),
    "cancelled":   (False, False, False, False, False, False, False),
    "interrupted": (False, False, False, False, False, False, False),
    "unknown":     (True,  True,  True,  True,  True,  True,  False),
}  # fmt: skip
CELLS = [(Status(status), to, may) for status, row in TABLE.items() for to, may in zip(Status, row, strict=True)]


@pytest.mark.parametrize(("status", "to", "may"), CELLS, ids=[f"{one}-{to}" for one, to, _ in CELLS])
def test_every_cell_of_the_table(status: Status, to: Status, may: bool) -> None:
    assert may_follow(status, to) is may


def test_every_reason_ends_in_a_status_that_stays() -> None:
    assert set(STATUS_OF) == set(Reason)
    assert set(STATUS_OF.values()) == ENDS


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        ("completed", "succeeded"),
        ("failed", "failed"),
        ("timeout", "failed"),
        ("budget_exhausted", "failed"),
        ("launch_failed", "failed"),
        ("result_too_large", "failed"),
        ("cancelled", "cancelled"),
        ("interrupted", "interrupted"),
        ("runner_lost", "interrupted"),
    ],
)
def test_reasons_end_as_the_design_says(reason: str, status: str) -> None:
    assert STATUS_OF[Reason(reason)] is Status(status)
