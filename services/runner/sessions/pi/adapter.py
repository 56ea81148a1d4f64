"""The adapter `pi`: one Pi child a session."""

from __future__ import annotations

from services.runner import processes
from services.runner.application.agents import Agent, Emit
from services.runner.domain.agent import AgentTask
from services.runner.sessions.pi.agent import PiAgent, PiTiming
from services.runner.sessions.pi.launch import Launch, PiInstallation


class Pi:
    """Implements application.agents.Agents."""

    name = "pi"

    def __init__(self, installation: PiInstallation, timing: PiTiming | None = None) -> None:
        self._installation = installation
        self._timing = timing or PiTiming()

    def open(self, task: AgentTask, emit: Emit) -> Agent:
        """A Pi that is not launched yet."""
        return PiAgent(Launch(self._installation, task), emit, self._timing)


def sweep_strays() -> None:
    """Ends what the agents of a killed runner on this machine have left running."""
    processes.kill(processes.strays())
