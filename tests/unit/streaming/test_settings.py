"""What the streaming service must be told by its environment."""

from __future__ import annotations

import pytest

from services.kernel.settings import SettingsFault, load
from services.streaming.settings import StreamingSettings


def test_planning_is_left_out_by_an_explicit_word_alone() -> None:
    assert load(StreamingSettings, planning_target="127.0.0.1:9103").asks_planning
    assert not load(StreamingSettings, planning_target="none").asks_planning
    for nothing in ({}, {"planning_target": ""}):
        with pytest.raises(SettingsFault, match=r"^TREADLE_PLANNING_TARGET: .* or none"):
            load(StreamingSettings, **nothing)
