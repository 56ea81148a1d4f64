"""A branch's title is taken by planning first and by streaming later: neither may refuse what the other takes."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import example, given
from hypothesis import strategies as st

from services.kernel.errors import Invalid
from services.planning.domain.limits import title_text
from services.streaming.domain.session import check_title


@example("会議\u3000メモ")
@example("\U0001f468\u200d\U0001f469")
@example("a\u202eb")
@example("x" * 200)
@example("x" * 201)
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=210))
def test_planning_and_streaming_take_the_same_titles(title: str) -> None:
    assert _takes(title_text, title) == _takes(check_title, title)


def _takes(check: Callable[[str], object], title: str) -> bool:
    try:
        check(title)
    except Invalid:
        return False
    return True
