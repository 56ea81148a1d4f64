"""The tables of the coordination database, as the statements beside them see them. The DDL is in `migrations`."""

from __future__ import annotations

from typing import Final

from sqlalchemy import BigInteger, Boolean, Column, DateTime, Integer, MetaData, Table, Text

_METADATA: Final = MetaData()


def _texts(*names: str) -> list[Column[str]]:
    return [Column(name, Text) for name in names]


def _times(*names: str) -> list[Column[object]]:
    return [Column(name, DateTime(timezone=True)) for name in names]


def _numbers(*names: str) -> list[Column[int]]:
    return [Column(name, BigInteger) for name in names]


def _flags(*names: str) -> list[Column[bool]]:
    return [Column(name, Boolean) for name in names]


COORDINATORS: Final = Table(
    "coordinators",
    _METADATA,
    *_texts("tenant", "session_id", "adapter", "provider", "model"),
    *_flags("enabled", "auto_wake", "deleted"),
    *_numbers("budget_seconds", "budget_tokens", "spent_ms", "spent_tokens", "note_seq"),
    *_times("created_at", "updated_at"),
)
WORKERS: Final = Table(
    "workers",
    _METADATA,
    *_texts("tenant", "id", "coordinator_id", "name", "kind", "status", "reason"),
    *_flags("has_result", "partial", "late"),
    *_texts("brief", "context", "session_id", "adapter", "provider", "model", "thinking"),
    Column("timeout_seconds", Integer),
    *_texts("spawned_by_turn", "spawned_by", "job_id"),
    Column("launches", Integer),
    *_flags("said", "waiting"),
    *_texts("stop_reason", "cancel_reason"),
    *_numbers("spent_ms", "tokens", "note_seq"),
    Column("report_version", Integer),
    Column("collected_version", Integer),
    *_times("billed_at", "created_at", "updated_at", "started_at", "expires_at", "stop_by", "woken_at", "ended_at"),
)
NOTES: Final = Table(
    "notes",
    _METADATA,
    *_texts("tenant", "coordinator_id", "worker_id", "text", "written_by"),
    *_numbers("sequence"),
    *_times("created_at"),
)
REPORTS: Final = Table(
    "reports",
    _METADATA,
    *_texts("tenant", "worker_id", "text", "section"),
    Column("version", Integer),
    *_flags("final", "partial"),
    *_numbers("result_length"),
    *_times("created_at"),
)
INJECTIONS: Final = Table(
    "injections",
    _METADATA,
    *_texts("tenant", "session_id", "turn_id", "role", "text", "sha256"),
    *_times("created_at"),
)
ENDED_TURNS: Final = Table(
    "ended_turns", _METADATA, *_texts("tenant", "session_id", "turn_id", "outcome"), *_times("ended_at")
)
DELETED_SESSIONS: Final = Table("deleted_sessions", _METADATA, *_texts("tenant", "session_id"), *_times("deleted_at"))
WAKES: Final = Table(
    "wakes",
    _METADATA,
    *_texts("tenant", "coordinator_id", "wake_id"),
    Column("attempts", Integer),
    *_times("due_at"),
)
STOPS: Final = Table(
    "stops", _METADATA, *_texts("tenant", "session_id"), Column("attempts", Integer), *_times("due_at")
)
