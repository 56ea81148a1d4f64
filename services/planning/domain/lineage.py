"""What one plan has that another has not, aligned by `origin_id`, which survives forks (P.4)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from services.planning.domain.numbering import parents
from services.planning.domain.step import Step, Steps


class Kind(StrEnum):
    """How a step differs."""

    ADDED = "added"
    REMOVED = "removed"
    MOVED = "moved"
    EDITED = "edited"
    TOGGLED = "toggled"


@dataclass(frozen=True, slots=True)
class Change:
    """A step that differs. `parent`: the lineage of its parent in `after`, empty at the top."""

    origin_id: str
    kinds: tuple[Kind, ...]
    before: Step | None
    after: Step | None
    parent: str = ""


def diff(before: Steps, after: Steps) -> list[Change]:
    """What makes `after` out of `before`: changes in the order of `after`, then what was removed. A step has moved
    when its parent is another one, or when it left the order that it had among its siblings; as few as possible are
    said to have."""
    old, new = {one.origin_id: one for one in before}, {one.origin_id: one for one in after}
    over = parent_of(after)
    moved = _moved(before, after)
    changes = []
    for step in after:
        was = old.get(step.origin_id)
        if was is None:
            changes.append(Change(step.origin_id, (Kind.ADDED,), None, step, over[step.origin_id]))
            continue
        kinds = [Kind.MOVED] if step.origin_id in moved else []
        kinds += [Kind.EDITED] if was.text != step.text else []
        kinds += [Kind.TOGGLED] if was.done != step.done else []
        if kinds:
            changes.append(Change(step.origin_id, tuple(kinds), was, step, over[step.origin_id]))
    changes += [Change(step.origin_id, (Kind.REMOVED,), step, None) for step in before if step.origin_id not in new]
    return changes


def rearranged(before: Steps, after: Steps) -> bool:
    """Whether steps that both have stand in another order, or under another parent."""
    return any(Kind.MOVED in change.kinds for change in diff(before, after))


def parent_of(steps: Steps) -> dict[str, str]:
    """Each step's parent, by lineage; empty at the top."""
    over = parents([one.depth for one in steps])
    return {one.origin_id: "" if at is None else steps[at].origin_id for one, at in zip(steps, over, strict=True)}


def _moved(before: Steps, after: Steps) -> set[str]:
    was, now = parent_of(before), parent_of(after)
    place = {one.origin_id: at for at, one in enumerate(before)}
    moved = {one for one in now if one in was and was[one] != now[one]}
    families: dict[str, list[str]] = {}
    for step in after:
        if step.origin_id in was and step.origin_id not in moved:
            families.setdefault(now[step.origin_id], []).append(step.origin_id)
    for siblings in families.values():
        kept = _longest_rising([place[one] for one in siblings])
        moved |= {one for at, one in enumerate(siblings) if at not in kept}
    return moved


def _longest_rising(values: Sequence[int]) -> set[int]:
    """Positions of a longest strictly rising subsequence of distinct values."""
    tails: list[int] = []
    ends: list[int] = []
    before: list[int | None] = []
    for at, value in enumerate(values):
        length = bisect_left(tails, value)
        before.append(ends[length - 1] if length else None)
        if length == len(tails):
            tails.append(value)
            ends.append(at)
        else:
            tails[length], ends[length] = value, at
    found: set[int] = set()
    at_end = ends[-1] if ends else None
    while at_end is not None:
        found.add(at_end)
        at_end = before[at_end]
    return found
