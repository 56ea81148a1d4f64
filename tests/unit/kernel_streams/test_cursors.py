"""Cursors: what is well formed, and where a reader goes on (D1.3, PUB05)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.kernel.cursors import Absent, Bare, Cursor, Malformed, Position, parse, start_of

MALFORMED = ["abc", "-1", " 5 ", "+5", "1_0", "\u0663", "5.0", "9" * 20, "9" * 5_000, "1-", "-", "1-2-3", "5\n", "1- 2"]


@pytest.mark.parametrize("text", MALFORMED)
def test_pub05_what_is_no_cursor_is_malformed_and_never_raises(text: str) -> None:
    assert parse(text) == Malformed()


@pytest.mark.parametrize(
    ("text", "cursor"),
    [
        (None, Absent()),
        ("", Absent()),
        ("0", Bare(0)),
        ("5", Bare(5)),
        ("2-41", Position(2, 41)),
        (str(2**63 - 1), Bare(2**63 - 1)),
        (str(2**63), Malformed()),
        (f"{2**63}-1", Malformed()),
    ],
)
def test_pub05_a_cursor_is_ascii_digits_of_63_bits(text: str | None, cursor: Cursor) -> None:
    assert parse(text) == cursor


@given(st.text())
def test_parse_takes_any_text(text: str) -> None:
    parse(text)


@given(st.integers(0, 2**63 - 1), st.integers(0, 2**63 - 1))
def test_a_position_is_read_back(generation: int, n: int) -> None:
    assert parse(str(Position(generation, n))) == Position(generation, n)


# Generation 2, ids 1..40, of which 21..40 are kept.
@pytest.mark.parametrize(
    ("text", "after", "reset"),
    [
        (None, 0, None),
        ("", 0, None),
        *((text, 0, "malformed") for text in MALFORMED),
        ("2-25", 25, None),
        ("25", 25, None),
        ("2-40", 40, None),
        ("2-20", 20, None),  # exactly the oldest minus one is no gap
        ("2-19", 0, "gap"),
        ("2-3", 0, "gap"),
        ("3", 0, "gap"),
        ("2-41", 0, "ahead"),
        ("41", 0, "ahead"),
        ("1-9999", 0, "generation"),
        ("9999", 0, "ahead"),
        ("1-25", 0, "generation"),
        ("3-25", 0, "generation"),
    ],
)
def test_pub05_where_a_reader_goes_on(text: str | None, after: int, reset: str | None) -> None:
    assert start_of(parse(text), 2, 21, 40, bare=True) == (after, reset)


def test_pub05_an_empty_stream_calls_every_number_ahead() -> None:
    assert start_of(parse("7"), 0, 1, 0, bare=True) == (0, "ahead")
    assert start_of(parse("1-7"), 0, 1, 0, bare=True) == (0, "generation")
    assert start_of(parse(""), 0, 1, 0, bare=True) == (0, None)


def test_a_feed_takes_no_plain_integers() -> None:
    assert start_of(parse("25"), 2, 21, 40, bare=False) == (0, "malformed")
