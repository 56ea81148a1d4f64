"""How Pi is launched for one session: its folders, its environment, its command line, its session file (D2.1, D2.3)."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from services.kernel import telemetry
from services.runner.application.agents import AgentFault
from services.runner.domain.agent import STATE_BYTES, THINKING_LEVELS, AgentTask
from services.runner.sessions.pi.child import Child
from services.runner.sessions.pi.framing import Record

_log = telemetry.get_logger("runner.pi")
TURN_MARK: Final = "treadle:turn "
"""How the line begins that tools.mjs takes off every prompt."""
RENEW: Final = "/treadle-token"
"""The command by which tools.mjs gets a newer token."""
_HERE: Final = Path(__file__).parent
REVIEWER: Final = _HERE / "reviewer.mjs"
TOOLS: Final = _HERE / "tools.mjs"
FAUX: Final = _HERE / "faux.mjs"
FAUX_PROVIDERS: Final = frozenset({"faux", "faux-slow"})


@dataclass(frozen=True, slots=True)
class PiInstallation:
    """`command`: how Pi is called, for example `pi`. `workspace`: where its tools work. `passed`: names of variables of
    our environment that it gets (keys of providers); nothing else of ours is passed. `gateway_url`: where our tools
    are; empty: it has none of ours."""

    command: tuple[str, ...]
    workspace: Path
    passed: Sequence[str] = ()
    gateway_url: str = ""


class Launch:
    """One launch. Its own folders live as long as it does."""

    def __init__(self, installation: PiInstallation, task: AgentTask) -> None:
        self._installation = installation
        self._task = task
        self._scratch: Path | None = None

    async def child(self) -> Child:
        """Raises AgentFault for a thinking level that Pi would silently turn into `off`, and when Pi is not there."""
        if self._task.thinking not in THINKING_LEVELS:
            raise AgentFault(f"no such thinking level: {self._task.thinking!r}")
        self._scratch = Path(tempfile.mkdtemp(prefix="treadle-pi-"))
        self._installation.workspace.mkdir(parents=True, exist_ok=True)
        if self._task.state is not None:
            self._session_file.write_bytes(self._task.state)
        return await Child.launch(self._command(), self._installation.workspace, self._environment())

    def prompt(self, words: str, turn: str) -> str:
        """What Pi is sent: where our tools are there, the words after a line that names their turn. They are never
        without it, so that no words of a person are a command of tools.mjs or name a turn themselves."""
        return f"{TURN_MARK}{turn}\n{words}" if self.has_tools else words

    @property
    def has_tools(self) -> bool:
        """Whether tools.mjs is part of it."""
        return bool(self._installation.gateway_url)

    def check(self, answer: Record) -> None:
        """Pi starts anew without a word when it cannot take the file: it is empty. Raises AgentFault."""
        data = answer.get("data")
        if answer.get("success") is not True or not isinstance(data, dict):
            raise AgentFault("Pi does not say how it is")
        if self._task.state is not None and _has_messages(self._task.state) and not data.get("messageCount"):
            raise AgentFault("Pi did not take the conversation that it was given")
        if data.get("thinkingLevel") == "off" != self._task.thinking and _reasons(data):
            raise AgentFault(f"Pi does not think, although it was told to think at {self._task.thinking!r}")

    def state(self) -> bytes | None:
        """The session file; None while there is none, or when it is too large to be kept."""
        try:
            if self._scratch is None:
                return None
            if (size := self._session_file.stat().st_size) > STATE_BYTES:
                _log.warning("pi.state_too_large", session=self._task.session, bytes=size)
                return None
            return self._session_file.read_bytes()
        except OSError:
            return None

    def clean(self) -> None:
        """Removes the launch's own folders."""
        if self._scratch is not None:
            shutil.rmtree(self._scratch, ignore_errors=True)

    @property
    def _session_file(self) -> Path:
        assert self._scratch is not None
        return self._scratch / "session.jsonl"

    def _command(self) -> list[str]:
        extensions = [
            REVIEWER,
            *([TOOLS] if self.has_tools else []),
            *([FAUX] if self._task.provider in FAUX_PROVIDERS else []),
        ]
        chosen = [("--provider", self._task.provider), ("--model", self._task.model)]
        return [
            *self._installation.command,
            *("--mode", "rpc", "--offline", "-ne"),
            *(word for extension in extensions for word in ("-e", str(extension))),
            *(word for option, value in chosen if value for word in (option, value)),
            *("--thinking", self._task.thinking, "--session", str(self._session_file)),
        ]

    def _environment(self) -> dict[str, str]:
        assert self._scratch is not None
        passed = {name: os.environ[name] for name in ("PATH", *self._installation.passed) if name in os.environ}
        gateway = self._installation.gateway_url
        ours = {"TREADLE_GATEWAY_URL": gateway, "TREADLE_TOKEN": self._task.token} if gateway else {}
        return {
            "LANG": "C.UTF-8",
            **passed,
            **ours,
            "HOME": str(self._scratch),
            "PI_CODING_AGENT_DIR": str(self._scratch / "agent"),
        }


def _has_messages(state: bytes) -> bool:
    return b'"type":"message"' in state


def _reasons(data: Record) -> bool:
    model = data.get("model")
    return isinstance(model, dict) and model.get("reasoning") is True
