"""Where the Chromium is that the console is driven in, and how it is started."""

from __future__ import annotations

import os
import shutil
from typing import Final

import pytest

_NAMES: Final = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS: Final = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def executable() -> str:
    """The browser's path. Without one the test fails where CI=true and is skipped, saying so, elsewhere."""
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    if found is not None:
        return found
    missing = "no Chromium on this machine: apt-get install chromium"
    if os.environ.get("CI") == "true":
        pytest.fail(missing)
    pytest.skip(missing)
