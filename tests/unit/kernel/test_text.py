"""PUB22: what cannot be encoded becomes U+FFFD, everything else stays as it is."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from services.kernel.text import encodable, storable


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
