"""Takes steps over from another plan, all or nothing (P.4): each named step becomes as it is there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from services.kernel.errors import Invalid
from services.kernel.ids import NewId
from services.planning.domain import limits
from services.planning.domain.errors import cherry_pick_refused, too_deep, too_many_steps
from services.planning.domain.lineage import Kind, diff, parent_of
from services.planning.domain.plan import subtree_end
from services.planning.domain.step import Step, Steps


def pick(steps: Steps, source: Steps, origin_ids: Sequence[str], new_id: NewId) -> Steps:
    """`steps` with those that are named made as they are in `source`: added behind the sibling that they follow
    there, edited, toggled, moved with what is under them, or removed where `source` has them no more."""
    here, there = {one.origin_id for one in steps}, {one.origin_id for one in source}
    for at, one in enumerate(origin_ids):
        if one not in here and one not in there:
            field = f"origin_ids[{at}]"
            raise Invalid("INVALID_ARGUMENT", f"{field}: neither plan has this step", field=field)
    picked = set(origin_ids)
    moved = {change.origin_id for change in diff(steps, source) if Kind.MOVED in change.kinds}
    over = parent_of(source)
    result = steps
    for step in source:  # from the top: a parent that is taken over is there before its sub-steps
        if step.origin_id not in picked:
            continue
        if step.origin_id not in here:
            block: Steps = (replace(step, id=new_id("stp")),)
            result = _placed(result, block, step, source, over)
        else:
            at = _at(result, step.origin_id)
            result = (*result[:at], replace(result[at], text=step.text, done=step.done), *result[at + 1 :])
            if step.origin_id in moved:
                end = subtree_end(result, at)
                result = _placed((*result[:at], *result[end:]), result[at:end], step, source, over)
    result = _without(result, picked - there, picked)
    if len(result) > limits.STEPS_MOST:
        raise too_many_steps()
    return result


def _placed(rest: Steps, block: Steps, step: Step, source: Steps, over: dict[str, str]) -> Steps:
    """The block where the step stands in `source`: behind the nearest sibling before it that is here too, else
    before all its siblings."""
    parent = over[step.origin_id]
    now = parent_of(rest)
    if parent and parent not in now:
        cause = "its parent is under it here" if _has(block, parent) else "its parent is not in this plan"
        raise cherry_pick_refused(step.origin_id, cause)
    before = None
    for one in source:
        if one.origin_id == step.origin_id:
            break
        if over[one.origin_id] == parent and now.get(one.origin_id) == parent:
            before = one.origin_id
    if before is not None:
        sibling = _at(rest, before)
        at, depth = subtree_end(rest, sibling), rest[sibling].depth
    else:
        at = _at(rest, parent) + 1 if parent else 0
        first = at < (subtree_end(rest, at - 1) if parent else len(rest))
        # As deep as the sibling that it is put before, so that it takes no orphan for its child.
        depth = rest[at].depth if first else rest[at - 1].depth + 1 if parent else 0
    by = depth - block[0].depth
    if max(one.depth for one in block) + by > limits.DEPTH_MOST:
        raise too_deep()
    return (*rest[:at], *(replace(one, depth=one.depth + by) for one in block), *rest[at:])


def _without(steps: Steps, gone: set[str], picked: set[str]) -> Steps:
    """Whole subtrees; what nobody named does not go along."""
    out: set[int] = set()
    for at, step in enumerate(steps):
        if step.origin_id in gone:
            for under in range(at + 1, subtree_end(steps, at)):
                if steps[under].origin_id not in gone:
                    stays = "was named to stay" if steps[under].origin_id in picked else "was not named"
                    raise cherry_pick_refused(step.origin_id, f"a step under it {stays}")
            out.add(at)
    return tuple(step for at, step in enumerate(steps) if at not in out)


def _at(steps: Steps, origin_id: str) -> int:
    return next(at for at, one in enumerate(steps) if one.origin_id == origin_id)


def _has(steps: Steps, origin_id: str) -> bool:
    return any(one.origin_id == origin_id for one in steps)
