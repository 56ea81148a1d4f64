"""The real Pi, where it is installed: by `tests/pi` (`npm ci` there), or where TREADLE_PI_COMMAND says."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any, Final

import pytest

from services.runner.sessions.pi.agent import PiTiming

_OURS: Final = Path(__file__).parents[2] / "pi" / "node_modules" / ".bin" / "pi"
COMMAND: Final = shutil.which(os.environ.get("TREADLE_PI_COMMAND") or str(_OURS)) or shutil.which("pi")
NEEDS_PI: Final = [
    pytest.mark.pi,
    pytest.mark.skipif(COMMAND is None, reason="Pi is not installed"),
    pytest.mark.xdist_group("pi"),
    pytest.mark.timeout(300),
]
PATIENT: Final = PiTiming(start=120.0, abort=60.0)
"""For a machine that is slow: what is tested is that it happens, not how soon."""


def script(*messages: dict[str, Any]) -> str:
    """A prompt for the faux provider: what the model says, message by message (faux.mjs)."""
    return json.dumps(messages)


def calls(*tools: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    """A message of the model that calls tools."""
    return {"tools": [{"id": f"c{n}", "name": name, "arguments": given} for n, (name, given) in enumerate(tools, 1)]}


def results(state: bytes | None) -> list[tuple[str, bool, str]]:
    """Of the tools in Pi's session file: name, whether it failed, and what the model was told."""
    entries = [json.loads(line) for line in (state or b"").split(b"\n") if line.strip()]
    messages = [entry["message"] for entry in entries if entry["type"] == "message"]
    return [
        (one["toolName"], bool(one["isError"]), "".join(part.get("text", "") for part in one["content"]))
        for one in messages
        if one["role"] == "toolResult"
    ]
