"""The console and the services speak of the same names, and the console's lock file names no registry."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

CONSOLE = Path(__file__).resolve().parents[2] / "gateway" / "console"


def test_the_consoles_event_names_are_those_of_the_protos() -> None:
    script = CONSOLE / "scripts" / "gen_events.py"
    checked = subprocess.run([sys.executable, str(script), "--check"], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr or "stale: run gateway/console/scripts/gen_events.py"


def test_the_consoles_lock_file_names_no_registry() -> None:
    assert '"resolved": "http' not in (CONSOLE / "package-lock.json").read_text()
