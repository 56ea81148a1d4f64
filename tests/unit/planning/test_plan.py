"""Laws of the plan's commands: no step is lost or doubled, trees move whole, what is refused changes nothing."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from services.kernel.errors import Invalid, Refusal
from services.planning.domain import plan
from services.planning.domain.lineage import parent_of
from services.planning.domain.numbering import numbers
from services.planning.domain.step import Step, Steps
from tests.unit.planning.plans import ids, plan_of, plans, words

indices = st.integers(-1, 22)


def shape(steps: Steps) -> str:
    """`number text` of each."""
    return " ".join(f"{n}{s.text}" for n, s in zip(numbers([s.depth for s in steps]), steps, strict=True))


def test_pub14_children_land_behind_the_last_descendant_of_their_parent() -> None:
    steps = plan.add(plan_of(0, 1, 0), ["x", "y"], 1, ids())
    assert shape(steps) == "1a 1.1b 1.2x 1.3y 2c"


def test_pub14_a_child_dragged_above_its_parent_keeps_its_depth() -> None:
    steps = plan.reorder(plan_of(0, 1, 0), ["s1", "s0", "s2"])
    assert [one.depth for one in steps] == [1, 0, 0]
    assert shape(steps) == "1b 2a 3c"


@given(plans(), st.lists(words, min_size=1, max_size=5), st.none() | indices)
def test_adding_keeps_everything_and_shows_what_is_new(steps: Steps, texts: list[str], parent: int | None) -> None:
    try:
        after = plan.add(steps, texts, parent, ids())
    except Refusal:
        assert parent is not None
        assert not 1 <= parent <= len(steps)
        return
    old = {one.id for one in steps}
    assert tuple(one for one in after if one.id in old) == steps
    added = [one for one in after if one.id not in old]
    assert [one.text for one in added] == [text.strip() for text in texts]
    over = parent_of(after)
    expected = "" if parent is None else steps[parent - 1].origin_id
    assert {over[one.origin_id] for one in added} == {expected}
    assert {one: over[one] for one in parent_of(steps)} == parent_of(steps), "nobody else has another parent"


@given(plans(), st.lists(indices, max_size=5), st.none() | st.booleans())
def test_toggling_touches_done_alone(steps: Steps, named: list[int], done: bool | None) -> None:
    try:
        after = plan.toggle(steps, named, done)
    except Invalid:
        assert not named or any(not 1 <= one <= len(steps) for one in named)
        return
    for at, (was, now) in enumerate(zip(steps, after, strict=True)):
        wanted = (not was.done if done is None else done) if at + 1 in named else was.done
        assert now == Step(was.id, was.origin_id, was.depth, was.text, wanted)


@given(plans(), st.lists(st.integers(1, 20), min_size=1, max_size=5))
def test_removing_takes_whole_subtrees_and_hands_nobody_on(steps: Steps, some: list[int]) -> None:
    assume(steps)
    named = [1 + one % len(steps) for one in some]
    after = plan.remove(steps, named)
    over, now = parent_of(steps), parent_of(after)
    assert now == {one: over[one] for one in now}, "who stays has the parent that he had"
    gone = [one.origin_id for one in steps if one.origin_id not in now]
    tops = {steps[one - 1].origin_id for one in named}
    assert all(one in tops or over[one] in gone for one in gone)


@given(plans(), indices, indices, st.booleans())
def test_moving_neither_loses_nor_doubles_and_moves_a_tree_whole(
    steps: Steps, index: int, target: int, under: bool
) -> None:
    try:
        after = (plan.move_under if under else plan.move_after)(steps, index, target)
    except Refusal:
        inside = 1 <= index <= len(steps) and index <= target <= plan.subtree_end(steps, index - 1)
        outside = not 1 <= index <= len(steps) or not (0 if not under else 1) <= target <= len(steps)
        assert inside or outside
        return
    assert Counter(one.id for one in after) == Counter(one.id for one in steps)
    was, now = parent_of(steps), parent_of(after)
    moved = steps[index - 1].origin_id
    assert {one: now[one] for one in now if one != moved} == {one: was[one] for one in was if one != moved}
    if under:
        assert now[moved] == steps[target - 1].origin_id
    else:
        assert now[moved] == ("" if target == 0 else was[steps[target - 1].origin_id])
    if target == 0 and not under:
        assert after[0].origin_id == moved


@given(plans(), st.randoms())
def test_reordering_is_a_permutation_with_depths_kept(steps: Steps, random: st.DataObject) -> None:
    wanted = [one.id for one in steps]
    random.shuffle(wanted)  # type: ignore[attr-defined]
    after = plan.reorder(steps, wanted)
    assert [one.id for one in after] == wanted
    assert set(after) == set(steps)


@pytest.mark.parametrize("wanted", [["s0", "s0", "s1"], ["s0", "s1"], ["s0", "s1", "sX"], []])
def test_pub13_e_an_order_that_is_no_permutation_is_refused(wanted: list[str]) -> None:
    with pytest.raises(Invalid) as caught:
        plan.reorder(plan_of(0, 0, 0), wanted)
    assert caught.value.metadata["field"] == "step_ids"


@pytest.mark.parametrize("named", [[0], [4], [-1], [], [1, 9]])
def test_pub13_c_any_bad_index_refuses_the_whole_batch(named: list[int]) -> None:
    with pytest.raises(Invalid):
        plan.toggle(plan_of(0, 0, 0), named, None)
    with pytest.raises(Invalid):
        plan.remove(plan_of(0, 0, 0), named)


def test_an_orphan_at_the_top_gets_no_child_by_a_move_before_it() -> None:
    steps = plan.move_after(plan_of(2, 2, 0), 3, 0)
    assert shape(steps) == "1c 2a 3b"


@pytest.mark.parametrize("length", [500, 501])
def test_pub21_texts_are_counted_in_code_points_and_never_cut(length: int) -> None:
    for letter in ("a", "\N{GRINNING FACE}"):
        text = letter * length
        if length == 500:
            assert plan.add((), [text], None, ids())[0].text == text
            continue
        with pytest.raises(Invalid) as caught:
            plan.add((), [text], None, ids())
        assert caught.value.metadata == {"field": "items[0]", "limit": "500"}
