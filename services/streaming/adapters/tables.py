"""The tables of the streaming database, as the statements beside them see them. The DDL is in `migrations`."""

from __future__ import annotations

from typing import Final

from sqlalchemy import BigInteger, Boolean, Column, DateTime, Identity, Integer, LargeBinary, MetaData, Table, Text

_METADATA: Final = MetaData()

SESSIONS: Final = Table(
    "sessions",
    _METADATA,
    Column("tenant", Text, primary_key=True),
    Column("id", Text, primary_key=True),
    Column("state", Text),
    Column("title", Text),
    Column("adapter", Text),
    Column("provider", Text),
    Column("model", Text),
    Column("thinking", Text),
    Column("version", BigInteger),
    Column("generation", BigInteger),
    Column("tail_generation", BigInteger),
    Column("tail_n", BigInteger),
    Column("tail_seq", BigInteger),
    Column("attach_epoch", BigInteger),
    Column("numbering", BigInteger),
    Column("created_at", DateTime(timezone=True)),
    Column("updated_at", DateTime(timezone=True)),
    Column("agent", Text),
    Column("started", Boolean),
    Column("job_id", Text),
    Column("turn_id", Text),
    Column("turn_number", Integer),
    Column("starting", Text),
    Column("outcome", Text),
    Column("code", Text),
    Column("command_seq", BigInteger),
    Column("agent_state", Text),
    Column("forked_from", Text),
    Column("coordinator", Text),
    Column("fork_turn", Integer),
    Column("forking", Boolean),
    Column("workspace_wanted", Boolean),
    Column("resumed_at", DateTime(timezone=True)),
    Column("deleted_at", DateTime(timezone=True)),
    Column("purged_at", DateTime(timezone=True)),
)

SESSION_OUTBOX: Final = Table(
    "session_outbox",
    _METADATA,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("tenant", Text),
    Column("session_id", Text),
    Column("event_id", Text),
    Column("name", Text),
    Column("data", LargeBinary),
    Column("after_seq", BigInteger),
    Column("created_at", DateTime(timezone=True)),
    Column("sent_seq", BigInteger),
)

COUNTERS: Final = Table("counters", _METADATA, Column("name", Text, primary_key=True), Column("value", BigInteger))
