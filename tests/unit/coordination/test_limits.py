"""What names, briefs, notes and session ids may be (A1, PUB21, PUB22): code points count, nothing is cut."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.coordination.domain import limits
from services.kernel.errors import Invalid

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"
"""One family to the eye, seven code points."""


@pytest.mark.parametrize("name", ["a", "0", "a_b-c", "a" * 64, "9-9_9"])
def test_pub21_names_that_pass(name: str) -> None:
    assert limits.worker_name(name) == name


@pytest.mark.parametrize(
    "name", ["", "w1\n", "\nw1", "a" * 65, "W1", "-a", "_a", "\uff11", "a b", "a.b", "ä", "a\0", "a/b", "w1\r", "٣"]
)
def test_pub21_names_that_do_not(name: str) -> None:
    with pytest.raises(Invalid) as refused:
        limits.worker_name(name)
    assert refused.value.reason == "INVALID_NAME"
    assert refused.value.metadata == {"field": "name"}
    assert "^[a-z0-9][a-z0-9_-]{0,63}$" in refused.value.message


@given(st.text())
def test_pub21_a_name_that_passes_is_what_was_said(text: str) -> None:
    try:
        assert limits.worker_name(text) == text
    except Invalid:
        return
    assert text.isascii()
    assert text.strip() == text
    assert 1 <= len(text) <= 64


@pytest.mark.parametrize("letter", ["a", "\U0001f600", "é", "漢"])
@pytest.mark.parametrize(
    ("check", "most"), [(limits.note, 2_000), (limits.brief, 4_000), (limits.extra_context, 4_000)]
)
def test_pub21_at_the_limit_it_is_kept_whole_and_above_it_is_refused(
    check: Callable[[str], str], most: int, letter: str
) -> None:
    assert check(letter * most) == letter * most
    with pytest.raises(Invalid) as refused:
        check(letter * (most + 1))
    assert refused.value.metadata["limit"] == str(most)
    assert str(most) in refused.value.message


def test_pub21_two_thousand_families_are_fourteen_thousand_code_points() -> None:
    assert limits.note(FAMILY * 285) == FAMILY * 285
    with pytest.raises(Invalid):
        limits.note(FAMILY * 2_000)
    with pytest.raises(Invalid):
        limits.note(FAMILY * 286)


@pytest.mark.parametrize("text", ["", " ", "\n\t ", "\u3000"])
def test_blank_texts_are_refused(text: str) -> None:
    with pytest.raises(Invalid) as of_note:
        limits.note(text)
    assert of_note.value.reason == "INVALID_ARGUMENT"
    with pytest.raises(Invalid) as of_brief:
        limits.brief(text)
    assert of_brief.value.reason == "BRIEF_REQUIRED"
    assert limits.extra_context(text) == ""


@pytest.mark.parametrize("text", ["x\ud83dy", "nul\0", "\udc00"])
@pytest.mark.parametrize("check", [limits.note, limits.brief, limits.extra_context])
def test_pub22_what_cannot_be_stored_or_sent_is_refused_by_its_field(check: Callable[[str], str], text: str) -> None:
    with pytest.raises(Invalid) as refused:
        check(text)
    assert refused.value.metadata["field"] in refused.value.message
    refused.value.message.encode()


@pytest.mark.parametrize("text", ["ses_1", "worker:x", "x" * 256, "ä/ö", "a b"])
def test_session_ids_that_pass(text: str) -> None:
    assert limits.session_id(text, "session_id") == text


@pytest.mark.parametrize("text", ["", " a", "a ", "a\nb", "a\x7f", "a\x85", "x" * 257, "a\0"])
def test_session_ids_that_do_not(text: str) -> None:
    with pytest.raises(Invalid) as refused:
        limits.session_id(text, "session_id")
    assert refused.value.metadata["field"] == "session_id"
