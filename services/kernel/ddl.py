"""Frozen DDL of the tables that every service has. A later change is a new list and a new migration, never an edit."""

from __future__ import annotations

from typing import Final

from services.kernel.ddl_outbox import OUTBOX_V1

JOBS_V1: Final = (
    """
    CREATE TABLE jobs (
        tenant text NOT NULL,
        id text NOT NULL PRIMARY KEY,
        kind text NOT NULL,
        subject text NOT NULL,
        state text NOT NULL CHECK (state IN ('queued', 'leased', 'done', 'failed', 'cancelled', 'parked')),
        payload jsonb NOT NULL,
        priority integer NOT NULL DEFAULT 100,
        attempt integer NOT NULL DEFAULT 0,
        fence bigint NOT NULL DEFAULT 0,
        started boolean NOT NULL DEFAULT false,
        cancel_requested boolean NOT NULL DEFAULT false,
        run_at timestamptz NOT NULL DEFAULT now(),
        lease_until timestamptz,
        runner_id text,
        claim_id text,
        reason text,
        created_at timestamptz NOT NULL DEFAULT now(),
        updated_at timestamptz NOT NULL DEFAULT now(),
        CHECK ((state = 'leased') = (lease_until IS NOT NULL))
    )
    """,
    # At most one live job a subject: two executions of one thread cannot exist, whoever asks.
    "CREATE UNIQUE INDEX jobs_live ON jobs (tenant, subject) WHERE state IN ('queued', 'leased')",
    "CREATE INDEX jobs_queued ON jobs (priority, run_at, id) WHERE state = 'queued'",
    "CREATE INDEX jobs_leases ON jobs (lease_until) WHERE state = 'leased'",
    "CREATE INDEX jobs_claims ON jobs (claim_id) WHERE state = 'leased'",
    "CREATE INDEX jobs_subject ON jobs (tenant, subject, id)",
)

IDEMPOTENCY_V1: Final = (
    """
    CREATE TABLE idempotency (
        tenant text NOT NULL,
        principal text NOT NULL,
        method text NOT NULL,
        request_id text NOT NULL,
        digest bytea NOT NULL,
        answer bytea,
        created_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (tenant, principal, method, request_id)
    )
    """,
    "CREATE INDEX idempotency_age ON idempotency (created_at)",
)

KERNEL_V1: Final = (*JOBS_V1, *IDEMPOTENCY_V1, *OUTBOX_V1)
