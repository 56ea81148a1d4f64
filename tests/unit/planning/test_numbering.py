"""Dotted numbers, leaves, progress (C4, C8-15, C8-19, PUB14)."""

from __future__ import annotations

import pytest
from hypothesis import given

from services.planning.domain.numbering import leaves, levels, numbers, parents, progress_of
from services.planning.domain.plan import subtree_end
from tests.unit.planning.plans import depths, plan_of

TABLE = [
    ([], []),
    ([0, 1, 1, 0, 1, 2, 0], ["1", "1.1", "1.2", "2", "2.1", "2.1.1", "3"]),
    ([0, 1, 1, 2, 0], ["1", "1.1", "1.2", "1.2.1", "2"]),
    ([1, 0], ["1", "2"]),
    ([0, 3], ["1", "1.1"]),
    ([0, 2, 1], ["1", "1.1", "1.2"]),
    ([2, 2], ["1", "2"]),
    ([0, 3, 3], ["1", "1.1", "1.2"]),
    # Pinned: two orphans of one stored depth are siblings; clamping to "previous + 1" would make a chain of them.
    ([0, 2, 2], ["1", "1.1", "1.2"]),
    ([3, 2, 1, 0], ["1", "2", "3", "4"]),
    ([0, 1, 3, 2, 1], ["1", "1.1", "1.1.1", "1.1.2", "1.2"]),
]


@pytest.mark.parametrize(("shape", "expected"), TABLE, ids=[str(shape) for shape, _ in TABLE])
def test_pub14_numbers_are_those_of_the_table(shape: list[int], expected: list[str]) -> None:
    assert numbers(shape) == expected


def test_pub14_a_thousand_steps_of_depth_0_to_999() -> None:
    found = numbers(range(1000))
    assert found[0] == "1"
    assert found[-1] == ".".join(["1"] * 1000)
    assert levels(range(1000)) == list(range(1000))
    assert leaves(range(1000)).count(True) == 1


def _key(number: str) -> list[int]:
    return [int(part) for part in number.split(".")]


@given(depths)
def test_pub14_c8_15_numbers_are_unique_rising_and_without_gaps(shape: list[int]) -> None:
    before = list(shape)
    found = [_key(number) for number in numbers(shape)]
    assert shape == before, "stored depths are not rewritten"
    assert len({tuple(one) for one in found}) == len(found)
    assert found == sorted(found), "strictly increasing in list order"
    assert all(part > 0 for one in found for part in one)
    seen: set[tuple[int, ...]] = set()
    for one in found:
        assert len(one) == 1 or tuple(one[:-1]) in seen, "its parent's number is there"
        assert one[-1] == 1 or (*one[:-1], one[-1] - 1) in seen, "no sibling is left out"
        seen.add(tuple(one))
    if found:
        assert found[0] == [1]


@given(depths)
def test_levels_parents_leaves_and_subtrees_tell_the_same_tree(shape: list[int]) -> None:
    deep, over, leaf = levels(shape), parents(shape), leaves(shape)
    steps = plan_of(*shape)
    for at, parent in enumerate(over):
        assert deep[at] == (0 if parent is None else deep[parent] + 1)
        under = range(at + 1, subtree_end(steps, at))
        assert leaf[at] is (len(under) == 0)
        assert [one for one in range(len(shape)) if _descends(over, one, at)] == list(under)


def _descends(over: list[int | None], one: int, ancestor: int) -> bool:
    parent = over[one]
    while parent is not None and parent != ancestor:
        parent = over[parent]
    return parent is not None


@pytest.mark.parametrize(
    ("shape", "ratio", "complete"),
    [
        ([], 0.0, False),
        ([(0, True), (1, False)], 0.0, False),
        ([(0, False), (1, True)], 1.0, True),
        ([(0, True)], 1.0, True),
        ([(0, True), (0, False), (1, True), (1, False)], 2 / 3, False),
    ],
)
def test_c8_19_progress_is_that_of_leaves(shape: list[tuple[int, bool]], ratio: float, complete: bool) -> None:
    done = progress_of(shape)
    assert (done.ratio, done.complete) == (ratio, complete)
