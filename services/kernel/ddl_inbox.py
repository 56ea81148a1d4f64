"""Frozen DDL of the inbox: facts of other services that took effect here. A later change is a new list."""

from __future__ import annotations

from typing import Final

INBOX_V1: Final = (
    """
    CREATE TABLE inbox (
        consumer text NOT NULL,
        event_id text NOT NULL,
        seen_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (consumer, event_id)
    )
    """,
    "CREATE INDEX inbox_age ON inbox (seen_at)",
)
