"""What a database of streaming can be asked by `verify`. What constraints and unique indexes hold is not asked again:
one open turn a session, an answer exactly where a gate is answered, one entry a gate. Sessions that are deleted stay as
they were until they are purged: only what hangs on them is asked for."""

from __future__ import annotations

from typing import Final

from services.kernel.verifying import UNSENT_FACTS, Checks
from services.streaming.adapters.checks.agents import AGENTS
from services.streaming.adapters.checks.gates import GATES
from services.streaming.adapters.checks.sharing import SHARING
from services.streaming.adapters.checks.turns import TURNS

_COUNTED: Final = (
    *("sessions", "turns", "stretches", "gates", "ledger", "messages"),
    *("session_commands", "agent_states"),
)
CHECKS: Final = Checks(
    "streaming",
    {name: f"SELECT count(*) FROM {name}" for name in _COUNTED},
    (*TURNS, *SHARING, *GATES, *AGENTS, UNSENT_FACTS),
)
