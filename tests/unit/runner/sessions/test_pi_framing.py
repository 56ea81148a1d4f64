"""Pi's output as records (design/streaming.md D2.2, D2.7)."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.runner.sessions.pi.framing import BrokenFraming, Framing, written

TEXT = st.text(st.characters(exclude_categories=("Cs",)))
RECORD = st.fixed_dictionaries({"type": st.just("x"), "text": TEXT})


def fed(data: bytes, sizes: list[int]) -> list[dict[str, Any]]:
    framing, found, start = Framing(), [], 0
    for size in [*sizes, len(data)]:
        found += list(framing.feed(data[start : start + size]))
        start += size
    return found


@given(st.lists(RECORD), st.lists(st.integers(0, 30)))
def test_d27_05_06_records_arrive_whole_however_they_are_cut(records: list[dict[str, str]], sizes: list[int]) -> None:
    data = b"".join(written(record) for record in records)
    assert fed(data, sizes) == records


def test_d27_05_only_lf_ends_a_line_and_a_trailing_cr_is_no_matter() -> None:
    data = b'{"type":"a","t":"x\xe2\x80\xa8y\xe2\x80\xa9z\xc2\x85"}\r\n{"type":"b"}\n'
    assert fed(data, []) == [{"type": "a", "t": "x\u2028y\u2029z\x85"}, {"type": "b"}]


@pytest.mark.parametrize(
    "line", [b"garbage", b"[1]", b'"text"', b"{}", b'{"type":1}', b"\xff\xfe", b"null", b"[" * 100_000, b'{"type":"a"']
)
def test_d27_15_garbage_is_counted_and_ignored(line: bytes) -> None:
    framing = Framing()
    assert list(framing.feed(line + b'\n{"type":"next"}\n')) == [{"type": "next"}]
    assert framing.ignored == 1


def test_d27_15_blank_lines_are_nothing() -> None:
    framing = Framing()
    assert list(framing.feed(b'\n \r\n{"type":"a"}\n')) == [{"type": "a"}]
    assert framing.ignored == 0


def test_d27_15_a_huge_line_passes_and_a_larger_one_is_refused() -> None:
    framing = Framing()
    record = {"type": "x", "text": "a" * (8 * 1024 * 1024)}
    data = orjson.dumps(record)
    found = [r for start in range(0, len(data), 65_536) for r in framing.feed(data[start : start + 65_536])]
    assert [*found, *framing.feed(b"\n")] == [record]
    with pytest.raises(BrokenFraming):
        for _ in range(40):
            list(framing.feed(b"a" * 1024 * 1024))


def test_d27_15_a_torn_last_line_is_read_if_it_can_be() -> None:
    framing = Framing()
    assert list(framing.feed(b'{"type":"a"}')) == []
    assert framing.end() == {"type": "a"}
    assert framing.end() is None
    list(framing.feed(b'{"type":"b'))
    with pytest.raises(BrokenFraming):
        framing.end()


def test_halves_of_a_pair_are_taken_as_they_come() -> None:
    (record,) = Framing().feed(b'{"type":"a","delta":"\\ud83d"}\n')
    assert record["delta"] == "\ud83d"
