"""The tables of planning as the statements beside them see them. The DDL is in `migrations`."""

from __future__ import annotations

from typing import Final

from sqlalchemy import BigInteger, Boolean, Column, DateTime, Integer, LargeBinary, MetaData, Table, Text

_METADATA: Final = MetaData()


def _texts(*names: str) -> list[Column[object]]:
    return [Column(name, Text) for name in names]


def _whole(*names: str) -> list[Column[object]]:
    return [Column(name, Integer) for name in names]


def _times(*names: str) -> list[Column[object]]:
    return [Column(name, DateTime(timezone=True)) for name in names]


FAMILIES: Final = Table("families", _METADATA, *_texts("tenant", "id"))
WORKSPACES: Final = Table(
    "workspaces",
    _METADATA,
    *_texts("tenant", "session_id", "family", "making", "objective", "objective_by", "turn_id", "parent_id"),
    *_whole("objective_turn", "turn", "fork_turn"),
    Column("objective_version", BigInteger),
    Column("plan_version", BigInteger),
    Column("running", Boolean),
    *_times("objective_at", "created_at", "updated_at"),
)
DELETED: Final = Table("deleted_workspaces", _METADATA, *_texts("tenant", "session_id"), *_times("deleted_at"))
STEPS: Final = Table(
    "steps",
    _METADATA,
    *_texts("tenant", "session_id", "id", "origin_id", "text"),
    *_whole("position", "depth"),
    Column("done", Boolean),
)
DOCUMENTS: Final = Table(
    "documents",
    _METADATA,
    *_texts("tenant", "session_id", "key", "content", "sha256", "updated_by"),
    *_whole("position", "size"),
    Column("locked", Boolean),
    Column("version", BigInteger),
    *_times("updated_at"),
)
BLOBS: Final = Table("blobs", _METADATA, *_texts("tenant", "family", "sha256"), Column("data", LargeBinary))
TURNS: Final = Table(
    "turns",
    _METADATA,
    *_texts("tenant", "line", "turn_id", "family", "outcome", "objective", "plan", "documents", "told"),
    *_whole("number", "leaves", "done_leaves"),
    Column("running", Boolean),
    Column("kept", Boolean),
    Column("told_version", BigInteger),
    *_times("begun_at", "ended_at", "told_at"),
)
STRETCHES: Final = Table(
    "stretches", _METADATA, *_texts("tenant", "session_id", "line", "family"), *_whole("low", "high")
)
ENDED_TURNS: Final = Table("ended_turns", _METADATA, *_texts("tenant", "session_id", "turn_id"), *_times("ended_at"))
BRANCHES: Final = Table(
    "branches",
    _METADATA,
    *_texts("tenant", "session_id", "origin_id", "origin_turn_id", "state", "reason", "title", "asked_by"),
    *_whole("turn", "attempts"),
    *_times("due_at", "created_at"),
)
