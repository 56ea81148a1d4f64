"""The tables of turns and what hangs on them, as the statements beside them see them. The DDL is in `migrations`."""

from __future__ import annotations

from typing import Final

from sqlalchemy import BigInteger, Boolean, Column, DateTime, Integer, LargeBinary, MetaData, Table, Text
from sqlalchemy.dialects.postgresql import JSONB

_METADATA: Final = MetaData()


def _of_session(name: str, *columns: Column[object]) -> Table:
    return Table(name, _METADATA, Column("tenant", Text), Column("session_id", Text), *columns)


def _time(name: str) -> Column[object]:
    return Column(name, DateTime(timezone=True))


TURNS: Final = _of_session(
    "turns",
    Column("id", Text),
    Column("number", Integer),
    Column("state", Text),
    Column("text", Text),
    Column("asked_by", Text),
    Column("abort_requested", Boolean),
    Column("outcome", Text),
    Column("code", Text),
    Column("usage", JSONB),
    Column("agent_state", Text),
    Column("after_seq", BigInteger),
    Column("said", Boolean),
    Column("begun", Boolean),
    Column("origin_turn_id", Text),
    _time("start_until"),
    _time("created_at"),
    _time("ended_at"),
)
STRETCHES: Final = _of_session(
    "stretches",
    Column("line", Text),
    Column("high", Integer),
    Column("messages_before", BigInteger),
    Column("messages", BigInteger),
)
"""Which turns and messages a branch shares with its ancestors."""
GATES: Final = _of_session(
    "gates",
    Column("id", Text),
    Column("turn_id", Text),
    Column("request_id", Text),
    Column("kind", Text),
    Column("proposal", JSONB),
    Column("state", Text),
    Column("answer", JSONB),
    Column("closed_by", Text),
    _time("created_at"),
    _time("closed_at"),
    _time("expires_at"),
)
LEDGER: Final = _of_session(
    "ledger",
    Column("sequence", BigInteger),
    Column("gate_id", Text),
    Column("joins", JSONB),
    Column("accepted_by", Text),
    _time("created_at"),
)
MESSAGES: Final = _of_session(
    "messages",
    Column("sequence", BigInteger),
    Column("turn_id", Text),
    Column("role", Text),
    Column("text", Text),
    Column("partial", Boolean),
    _time("created_at"),
)
COMMANDS: Final = _of_session(
    "session_commands",
    Column("sequence", BigInteger),
    Column("turn_id", Text),
    Column("kind", Text),
    Column("payload", JSONB),
    Column("state", Text),
    Column("told", Boolean),
    _time("created_at"),
)
AGENT_STATES: Final = _of_session(
    "agent_states",
    Column("digest", Text),
    Column("data", LargeBinary),
    _time("created_at"),
)
RUNNERS: Final = Table(
    "runners",
    _METADATA,
    Column("runner_id", Text),
    Column("adapter", Text),
    Column("providers", JSONB),
    Column("models", JSONB),
    _time("seen_until"),
)
JOBS: Final = Table(
    "jobs",
    _METADATA,
    Column("tenant", Text),
    Column("id", Text),
    Column("subject", Text),
    Column("kind", Text),
    Column("state", Text),
    Column("runner_id", Text),
    _time("run_at"),
    _time("lease_until"),
    _time("updated_at"),
)
"""The kernel's; its commands are `kernel/jobs.py`, here it is looked at, and rid of what is over."""
