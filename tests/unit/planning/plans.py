"""Plans for properties: any shapes, any commands."""

from __future__ import annotations

from itertools import count

from hypothesis import strategies as st

from services.kernel.ids import NewId
from services.planning.domain.step import Step, Steps

depths = st.lists(st.integers(0, 6), max_size=30)
words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=20).filter(
    lambda text: text.strip() != ""
)


def ids() -> NewId:
    """Ids in order, the same in every run."""
    numbers = count(1)
    return lambda prefix: f"{prefix}_{next(numbers):032x}"


def plan_of(*depths: int) -> Steps:
    """Steps a, b, c … of these depths."""
    return tuple(Step(f"s{at}", f"o{at}", depth, chr(ord("a") + at % 26)) for at, depth in enumerate(depths))


@st.composite
def plans(draw: st.DrawFn, most: int = 20) -> Steps:
    """Any plan."""
    shape = draw(st.lists(st.integers(0, 5), max_size=most))
    return tuple(
        Step(f"s{at}", f"o{at}", depth, draw(words).strip(), draw(st.booleans())) for at, depth in enumerate(shape)
    )
