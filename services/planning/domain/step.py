"""A step of a plan. A plan is a tuple of steps: their order is the tree read from the top, `depth` its shape (C4)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Step:
    """`id` names it in its own plan; `origin_id` is the same in every branch that has it (P.4)."""

    id: str
    origin_id: str
    depth: int
    text: str
    done: bool = False


Steps = tuple[Step, ...]
