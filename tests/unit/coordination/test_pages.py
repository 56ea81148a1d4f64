"""Pages of large texts: whole code points, at most 256 KiB, nothing lost."""

from __future__ import annotations

import hashlib

from hypothesis import given, settings
from hypothesis import strategies as st

from services.coordination.domain.limits import PAGE_BYTES
from services.coordination.domain.pages import TextPage, page_of


def _pages(text: str) -> list[TextPage]:
    pages: list[TextPage] = []
    while not pages or not pages[-1].last:
        page = page_of(text, pages[-1].end if pages else 0)
        assert page is not None
        assert not pages or page.end > page.begin
        pages.append(page)
    return pages


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=30), st.integers(1, 40_000))
@settings(max_examples=50, deadline=None)
def test_pages_put_together_are_the_text(piece: str, times: int) -> None:
    text = piece * times
    pages = _pages(text)
    assert "".join(page.text for page in pages) == text
    assert all(len(page.text.encode()) == page.end - page.begin <= PAGE_BYTES for page in pages)
    assert all(page.end - page.begin > PAGE_BYTES - 4 for page in pages[:-1]), "no page is shorter than it must be"
    assert {(page.length, page.sha256) for page in pages} == {(len(text), hashlib.sha256(text.encode()).hexdigest())}


def test_an_empty_text_has_one_page() -> None:
    page = page_of("", 0)
    assert page is not None
    assert (page.text, page.last, page.length) == ("", True, 0)


def test_no_page_begins_inside_a_character_or_outside_the_text() -> None:
    assert page_of("é", 1) is None
    assert page_of("é", 3) is None
    assert page_of("é", -1) is None
    assert page_of("éa", 2) is not None
