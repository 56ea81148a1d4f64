"""Frames: one line, whatever the text (PUB15)."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.kernel.frames import Frame, line_of_json, reset, sse

TEXTS = [
    "a\nevent: x\nid: 999",
    "\r",
    "a\r\nb",
    "trailing\n",
    "\u2028",
    "\u2029",
    "\u0085",
    "\v\f\x1c\x1d\x1e",
    "",
    "x" * 1_000_000,
    "ü\u2027\u202a\x84é",
]


def strict(stream: bytes) -> list[dict[str, str]]:
    """A reader by the letter of the standard: lines end with CRLF, LF or CR."""
    text = stream.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    return _events(text.split("\n"))


def careless(stream: bytes) -> list[dict[str, str]]:
    """A reader that splits lines by Unicode's rules."""
    return _events(stream.decode("utf-8").splitlines())


def _events(lines: list[str]) -> list[dict[str, str]]:
    events: list[dict[str, str]] = []
    current: dict[str, str] = {}
    for line in [*lines, ""]:
        if not line:
            if current:
                events.append(current)
            current = {}
        elif not line.startswith(":"):
            name, _, value = line.partition(":")
            current[name] = current.get(name, "") + value.removeprefix(" ")
    return events


@pytest.mark.parametrize("text", TEXTS)
def test_pub15_text_survives_both_kinds_of_reader(text: str) -> None:
    stream = b"".join(sse(Frame(f"1-{n}", "text_delta", line_of_json({"delta": text}))) for n in (1, 2)) + b": ping\n\n"
    for read in (strict, careless):
        events = read(stream)
        assert [event["id"] for event in events] == ["1-1", "1-2"]
        assert all(set(event) == {"id", "event", "data"} for event in events)
        assert all(orjson.loads(event["data"])["delta"] == text for event in events)


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_pub15_any_text_is_one_line_and_reads_back(text: str) -> None:
    line = line_of_json({"t": text})
    assert len(line.decode().splitlines()) == 1
    assert orjson.loads(line) == {"t": text}


def test_a_reset_moves_no_cursor() -> None:
    assert strict(sse(reset("gap", "2-21"))) == [{"event": "reset", "data": '{"reason":"gap","oldest_id":"2-21"}'}]
