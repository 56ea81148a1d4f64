"""What commands do to a plan (C4, P.6): pure, all or nothing. Indices are 1-based and refer to the list as given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from services.kernel.errors import Invalid
from services.kernel.ids import NewId
from services.planning.domain import limits
from services.planning.domain.errors import too_deep, too_many_steps
from services.planning.domain.step import Step, Steps


def add(steps: Steps, texts: Sequence[str], parent_index: int | None, new_id: NewId) -> Steps:
    """Appends at depth 0, or behind the parent's whole subtree, one deeper than the parent."""
    limits.count("items", len(texts), limits.ITEMS_MOST)
    cleaned = [limits.step_text(text, f"items[{at}]") for at, text in enumerate(texts)]
    if parent_index is None:
        at, depth = len(steps), 0
    else:
        parent = _position(steps, parent_index, "parent_index")
        at, depth = subtree_end(steps, parent), steps[parent].depth + 1
    if len(steps) + len(cleaned) > limits.STEPS_MOST:
        raise too_many_steps()
    if depth > limits.DEPTH_MOST:
        raise too_deep()
    return (*steps[:at], *(fresh(text, depth, new_id) for text in cleaned), *steps[at:])


def toggle(steps: Steps, indices: Sequence[int], done: bool | None) -> Steps:
    """Turns `done` around, or sets it; an index that is named twice counts once. No cascade."""
    named = set(_positions(steps, indices))
    return tuple(
        replace(step, done=not step.done if done is None else done) if at in named else step
        for at, step in enumerate(steps)
    )


def edit(steps: Steps, edits: Sequence[tuple[int, str]]) -> Steps:
    """Other texts; an index that is named twice is refused, for which text would win?"""
    limits.count("edits", len(edits), limits.ITEMS_MOST)
    texts: dict[int, str] = {}
    for number, (index, text) in enumerate(edits):
        at = _position(steps, index, f"edits[{number}].index")
        if at in texts:
            raise Invalid("INVALID_ARGUMENT", "edits must name each step once", field=f"edits[{number}].index")
        texts[at] = limits.step_text(text, f"edits[{number}].text")
    return tuple(replace(step, text=texts.get(at, step.text)) for at, step in enumerate(steps))


def remove(steps: Steps, indices: Sequence[int]) -> Steps:
    """Whole subtrees: without its children going too, a parent would hand them to its previous sibling."""
    gone: set[int] = set()
    for at in _positions(steps, indices):
        gone.update(range(at, subtree_end(steps, at)))
    return tuple(step for at, step in enumerate(steps) if at not in gone)


def move_after(steps: Steps, index: int, after_index: int) -> Steps:
    """The subtree of `index` behind the subtree of `after_index`, at its depth; 0: to the top of the plan."""
    start = _position(steps, index, "index")
    block, rest = _cut(steps, start)
    if after_index == 0:
        # As deep as what it is put before, so that it takes no orphan below it for its child.
        return (*_at_depth(block, rest[0].depth if rest else 0), *rest)
    target = _outside(steps, start, len(block), after_index, "after_index")
    return _put(rest, subtree_end(rest, target), _at_depth(block, rest[target].depth))


def move_under(steps: Steps, index: int, parent_index: int) -> Steps:
    """The subtree of `index` to the end of the sub-steps of `parent_index`."""
    start = _position(steps, index, "index")
    block, rest = _cut(steps, start)
    target = _outside(steps, start, len(block), parent_index, "parent_index")
    return _put(rest, subtree_end(rest, target), _at_depth(block, rest[target].depth + 1))


def reorder(steps: Steps, step_ids: Sequence[str]) -> Steps:
    """This order, depths as they are: the seed's flat drag. The ids are those of the plan, each once."""
    by_id = {step.id: step for step in steps}
    if len(set(step_ids)) != len(step_ids):
        raise Invalid("INVALID_ARGUMENT", "step_ids must name each step once", field="step_ids")
    if set(step_ids) != set(by_id):
        raise Invalid(
            "INVALID_ARGUMENT",
            f"step_ids must be exactly the ids of the plan's {len(steps)} steps: read the plan again",
            field="step_ids",
        )
    return tuple(by_id[one] for one in step_ids)


def subtree_end(steps: Sequence[Step], at: int) -> int:
    """Where the subtree of the row at `at` (0-based) ends: the first row behind it that is not deeper."""
    end = at + 1
    while end < len(steps) and steps[end].depth > steps[at].depth:
        end += 1
    return end


def fresh(text: str, depth: int, new_id: NewId) -> Step:
    """A step that no other plan has."""
    made = new_id("stp")
    return Step(made, made, depth, text)


def _position(steps: Steps, index: int, field: str) -> int:
    if not 1 <= index <= len(steps):
        raise Invalid("INVALID_ARGUMENT", f"{field} must be 1..{len(steps)}", field=field, limit=len(steps))
    return index - 1


def _positions(steps: Steps, indices: Sequence[int]) -> list[int]:
    limits.count("indices", len(indices), limits.STEPS_MOST)
    return [_position(steps, index, f"indices[{at}]") for at, index in enumerate(indices)]


def _cut(steps: Steps, start: int) -> tuple[Steps, Steps]:
    end = subtree_end(steps, start)
    return steps[start:end], (*steps[:start], *steps[end:])


def _outside(steps: Steps, start: int, length: int, index: int, field: str) -> int:
    """The target's position once the block is cut out."""
    target = _position(steps, index, field)
    if start <= target < start + length:
        raise Invalid("INVALID_ARGUMENT", f"{field} must not lie in the subtree that moves", field=field)
    return target if target < start else target - length


def _put(rest: Steps, at: int, block: Steps) -> Steps:
    return (*rest[:at], *block, *rest[at:])


def _at_depth(block: Steps, depth: int) -> Steps:
    by = depth - block[0].depth
    if max(step.depth for step in block) + by > limits.DEPTH_MOST:
        raise too_deep()
    return tuple(replace(step, depth=step.depth + by) for step in block)
