"""PUB22: what cannot be encoded becomes U+FFFD, everything else stays as it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.kernel.text import encodable, is_one_line, storable


def test_pub22_lone_surrogates_and_nul_become_the_replacement_character() -> None:
    assert encodable("x\ud83dy") == "x\ufffdy"
    assert encodable("\udc00") == "\ufffd"
    assert encodable("\ud83e\uddf5") == "🧵"
    assert storable("a\0b\ud800") == "a\ufffdb\ufffd"


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_text_that_can_be_encoded_is_left_alone(text: str) -> None:
    assert encodable(text) == text


@given(st.text(st.characters(min_codepoint=0, max_codepoint=0x10FFFF, categories=["Cs", "Lu", "So", "Cc"])))
def test_pub22_whatever_comes_in_can_be_encoded_afterwards(text: str) -> None:
    assert "\0" not in storable(text).encode("utf-8").decode("utf-8")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a b",
        "会議\u3000メモ",
        "12\u00a0€",
        "\U0001f468\u200d\U0001f469\u200d\U0001f467",
        "می\u200cخواهم",
        "क्\u200dष",
        "☀\ufe0f",
    ],
)
def test_pub21_titles_of_every_script_are_one_line(text: str) -> None:
    assert is_one_line(text)


@pytest.mark.parametrize(
    "mark", ["\n", "\r", "\t", "\0", "\x85", "\u2028", "\u202e", "\u200b", "\ufeff", "\U000e0041", "\ud800"]
)
def test_what_breaks_a_line_or_hides_in_it_is_not_one_line(mark: str) -> None:
    assert not is_one_line(f"a{mark}b")
