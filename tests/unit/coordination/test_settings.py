"""What the coordination service may be told by its environment."""

from __future__ import annotations

import pytest

from services.coordination.settings import CoordinationSettings
from services.kernel.settings import SettingsFault, load


def test_workers_of_an_outside_coordinator_cannot_be_driven_from_outside_themselves() -> None:
    assert load(CoordinationSettings, worker_adapter="pi").worker_adapter == "pi"
    for wrong in ("external", "", "Pi", "pi\n", "a" * 64):
        with pytest.raises(SettingsFault, match="WORKER_ADAPTER"):
            load(CoordinationSettings, worker_adapter=wrong)
