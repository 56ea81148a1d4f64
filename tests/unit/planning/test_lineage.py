"""Diffs and taking steps over: what is said to differ differs, and taking all of it over makes the plans alike."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.kernel.errors import Invalid, NotAllowed, Refusal
from services.planning.domain import plan
from services.planning.domain.lineage import Kind, diff, parent_of
from services.planning.domain.picking import pick
from services.planning.domain.snapshot import Snapshot, capture, materialise
from services.planning.domain.step import Steps
from tests.unit.planning.plans import ids, plan_of, plans, words

new_ids = ids()


@st.composite
def edited(draw: st.DrawFn) -> tuple[Steps, Steps]:
    """A plan, and a branch of it after any commands."""
    before = draw(plans(12))
    after = materialise(capture("", before, ()), new_ids)
    for _ in range(draw(st.integers(0, 6))):
        at, to = draw(st.integers(1, 14)), draw(st.integers(0, 14))
        what = draw(st.sampled_from(["add", "under", "toggle", "edit", "remove", "after", "move", "order"]))
        try:
            match what:
                case "add":
                    after = plan.add(after, [draw(words)], None, new_ids)
                case "under":
                    after = plan.add(after, [draw(words)], at, new_ids)
                case "toggle":
                    after = plan.toggle(after, [at], None)
                case "edit":
                    after = plan.edit(after, [(at, draw(words))])
                case "remove":
                    after = plan.remove(after, [at])
                case "after":
                    after = plan.move_after(after, at, to)
                case "move":
                    after = plan.move_under(after, at, to)
                case "order":
                    order = draw(st.permutations([one.id for one in after]))
                    after = plan.reorder(after, order)
        except Refusal:
            continue
    return before, after


def tree(steps: Steps) -> list[tuple[str, str, str, bool]]:
    """What a diff looks at: lineage in order, parent, text, done."""
    over = parent_of(steps)
    return [(one.origin_id, over[one.origin_id], one.text, one.done) for one in steps]


@given(plans())
def test_a_plan_does_not_differ_from_its_copy(steps: Steps) -> None:
    assert diff(steps, materialise(Snapshot("", capture("", steps, ()).steps), ids())) == []


@given(edited())
def test_a_diff_tells_of_exactly_what_differs(pair: tuple[Steps, Steps]) -> None:
    before, after = pair
    changes = diff(before, after)
    old, new = {one[0]: one[1:] for one in tree(before)}, {one[0]: one[1:] for one in tree(after)}
    said = {change.origin_id: set(change.kinds) for change in changes}
    assert len(said) == len(changes)
    assert {one for one, kinds in said.items() if kinds == {Kind.ADDED}} == set(new) - set(old)
    assert {one for one, kinds in said.items() if kinds == {Kind.REMOVED}} == set(old) - set(new)
    for one in set(old) & set(new):
        kinds = said.get(one, set())
        assert (Kind.EDITED in kinds) is (old[one][1] != new[one][1])
        assert (Kind.TOGGLED in kinds) is (old[one][2] != new[one][2])
        if old[one][0] != new[one][0]:
            assert Kind.MOVED in kinds
    if not changes:
        assert tree(before) == tree(after)


@given(edited())
def test_taking_everything_over_makes_the_plans_alike(pair: tuple[Steps, Steps]) -> None:
    before, after = pair
    changed = [change.origin_id for change in diff(before, after)]
    result = pick(before, after, changed, ids())
    assert tree(result) == tree(after)
    assert diff(result, after) == []


@given(edited(), st.data())
def test_taking_some_over_leaves_the_others_alone(pair: tuple[Steps, Steps], data: st.DataObject) -> None:
    before, after = pair
    changes = [change.origin_id for change in diff(before, after)]
    some = data.draw(st.lists(st.sampled_from(changes), unique=True)) if changes else []
    try:
        result = pick(before, after, some, ids())
    except NotAllowed:
        return
    old, now = {one[0]: one[1:] for one in tree(before)}, {one[0]: one[1:] for one in tree(result)}
    wanted = {one[0]: one[1:] for one in tree(after)}
    assert len(result) == len(now)
    for one in {*old, *now} - set(some):
        assert now[one] == old[one], "what was not named is as it was"
    for one in some:
        assert now.get(one) == wanted.get(one), "what was named is as it is there"


def test_a_step_does_not_come_without_its_parent() -> None:
    source = plan.add(plan.add(plan_of(0), ["x"], None, new_ids), ["y"], 2, new_ids)
    child = source[2].origin_id
    with pytest.raises(NotAllowed) as caught:
        pick(plan_of(0), source, [child], ids())
    assert caught.value.metadata == {"origin_id": child, "cause": "its parent is not in this plan"}


def test_a_removal_takes_along_nothing_that_was_not_named() -> None:
    here = plan.add(plan_of(0, 0), ["mine"], 1, new_ids)
    there = plan.remove(plan_of(0, 0), [1])
    with pytest.raises(NotAllowed):
        pick(here, there, ["o0"], ids())
    assert [one.origin_id for one in pick(here, there, ["o0", here[1].origin_id], ids())] == ["o1"]


def test_a_step_that_neither_has_is_refused() -> None:
    with pytest.raises(Invalid):
        pick(plan_of(0), plan_of(0), ["o9"], ids())
