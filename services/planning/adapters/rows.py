"""Between rows and the domain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from services.kernel.postgres import Row
from services.planning.adapters.branch_sql import BRANCH_FIELDS
from services.planning.adapters.turn_sql import TURN_FIELDS
from services.planning.adapters.workspace_sql import DOCUMENT_FIELDS, WORKSPACE_FIELDS
from services.planning.application.work import Live, TurnRow
from services.planning.domain.branch import Branch, Saga
from services.planning.domain.document import Document
from services.planning.domain.step import Step, Steps
from services.planning.domain.workspace import Making, Workspace


def workspace_of(row: Row) -> Workspace:
    """Out of a row that has WORKSPACE_FIELDS."""
    fields = {name: row[name] for name in WORKSPACE_FIELDS}
    return Workspace(**{**fields, "making": Making(fields["making"])})


def workspace_values(workspace: Workspace, names: Sequence[str] = WORKSPACE_FIELDS) -> dict[str, Any]:
    """As the statements' parameters."""
    return {name: getattr(workspace, name) for name in names}


def steps_of(rows: Sequence[Row]) -> Steps:
    """In the rows' order."""
    return tuple(Step(row["id"], row["origin_id"], row["depth"], row["text"], row["done"]) for row in rows)


def steps_of_json(rows: Sequence[Sequence[Any]]) -> Steps:
    """Out of restore_sql.live_steps."""
    return tuple(Step(*row) for row in rows)


def live_of(row: Row) -> Live:
    """Out of a row of read_sql.LIVE."""
    return Live(workspace_of(row), steps_of_json(row["steps"]))


def step_arrays(placed: Sequence[tuple[int, Step]]) -> Mapping[str, list[Any]]:
    """(position, step) as the arrays of INSERT_STEPS and UPDATE_STEPS."""
    return {
        "ids": [step.id for _, step in placed],
        "origin_ids": [step.origin_id for _, step in placed],
        "positions": [at for at, _ in placed],
        "depths": [step.depth for _, step in placed],
        "texts": [step.text for _, step in placed],
        "dones": [step.done for _, step in placed],
    }


def document_of(row: Row, content: str | None = None) -> Document:
    """Out of a row that has DOCUMENT_FIELDS."""
    return Document(content=content, **{name: row[name] for name in DOCUMENT_FIELDS})


def document_values(document: Document) -> dict[str, Any]:
    """As the statements' parameters, with the content."""
    return {"content": document.content, **{name: getattr(document, name) for name in DOCUMENT_FIELDS}}


def turn_of(row: Row) -> TurnRow:
    """Out of a row that has TURN_FIELDS."""
    return TurnRow(**{name: row[name] for name in TURN_FIELDS})


def branch_of(row: Row) -> Branch:
    """Out of a row that has BRANCH_FIELDS."""
    fields = {name: row[name] for name in BRANCH_FIELDS}
    return Branch(**{**fields, "state": Saga(fields["state"])})


def branch_values(branch: Branch) -> dict[str, Any]:
    """As the statements' parameters."""
    return {name: getattr(branch, name) for name in BRANCH_FIELDS}
