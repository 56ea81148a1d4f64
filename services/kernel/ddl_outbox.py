"""Frozen DDL of the outbox and of its relay's bookkeeping. A later change is a new list, never an edit of this one."""

from __future__ import annotations

from typing import Final

OUTBOX_V1: Final = (
    """
    CREATE TABLE outbox (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        tenant text NOT NULL,
        scope text NOT NULL,
        service text NOT NULL,
        type text NOT NULL,
        event_id text NOT NULL UNIQUE,
        payload bytea NOT NULL CHECK (octet_length(payload) <= 65536),
        created_at timestamptz NOT NULL DEFAULT now(),
        sent_seq bigint
    )
    """,
    # Ids are taken before commit: whoever reads above a high-water mark skips the slow writer's row (PUB06). What is
    # not sent says so itself, and this index is only as large as what is not sent.
    "CREATE INDEX outbox_unsent ON outbox (id) WHERE sent_seq IS NULL",
    "CREATE INDEX outbox_sent ON outbox (created_at) WHERE sent_seq IS NOT NULL",
    """
    CREATE TABLE relay (
        service text PRIMARY KEY,
        last_seq bigint NOT NULL DEFAULT 0,
        epoch bigint NOT NULL DEFAULT 0
    )
    """,
)
