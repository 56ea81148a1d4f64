"""The ring against a plain list."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from services.kernel.cursors import Position
from services.kernel.frames import Frame
from services.kernel.ring import Elsewhere, Ring, RingLimits


def _frame(n: int, size: int) -> Frame:
    return Frame(f"1-{n}", "e", b"x" * size)


@settings(max_examples=200)
@given(st.lists(st.tuples(st.integers(1, 3), st.integers(0, 40)), max_size=60), st.integers(1, 20), st.integers(1, 200))
def test_a_ring_is_the_tail_of_its_stream(events: list[tuple[int, int]], count: int, size: int) -> None:
    ring = Ring(RingLimits(count, size))
    ring.restart(Position(1, 10), complete=True)
    told: list[Frame] = []
    n = 10
    for step, length in events:
        n += step
        frame = _frame(n, length)
        told.append(frame)
        ring.append(n, frame, frame.data)
        kept = ring.frames(ring.first, ring.end)
        assert kept == told[len(told) - len(kept) :]
        assert len(kept) == 1 or (len(kept) <= count and sum(len(f.data) for f in kept) <= size)
        assert ring.end == len(told)
        assert ring.size(ring.first, ring.end) == sum(len(f.data) for f in kept)
    if not told:
        return
    assert ring.complete == (ring.first == 0)
    numbers = [int(frame.id[2:]) for frame in told]
    for cursor in range(9, n + 2):
        slot = ring.locate(Position(1, cursor))
        if cursor > n:
            assert slot is Elsewhere.NEWER
        elif cursor < ring.floor:
            assert slot is Elsewhere.OLDER
        else:
            assert slot == sum(number <= cursor for number in numbers)
    for start in range(ring.first, ring.end):
        end = ring.fit(start, 50)
        assert end > start
        assert end == start + 1 or ring.size(start, end) <= 50
        assert end == ring.end or ring.size(start, end + 1) > 50
        assert ring.wire(start, end) == b"".join(frame.data for frame in ring.frames(start, end))


def test_a_ring_that_began_anew_knows_nothing_of_before() -> None:
    ring = Ring(RingLimits())
    ring.restart(Position(1, 0), complete=True)
    ring.append(1, _frame(1, 3), b"abc")
    ring.restart(Position(2, 0), complete=True)
    assert ring.locate(Position(1, 1)) is Elsewhere.OLDER
    assert ring.locate(None) == ring.end == 1
    ring.append(1, Frame("2-1", "e", b"z"), b"z")
    assert ring.wire(1, 2) == b"z"
    assert ring.position == "2-1"
