"""Coordinators, workers, notes, reports, injections, turns that ended, wakes; the inbox of others' facts."""

from alembic import op

from services.kernel.ddl_inbox import INBOX_V1

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_STATEMENTS = (
    """
    CREATE TABLE coordinators (
        tenant text NOT NULL,
        session_id text NOT NULL,
        enabled boolean NOT NULL,
        auto_wake boolean NOT NULL DEFAULT false,
        budget_seconds bigint NOT NULL DEFAULT 0 CHECK (budget_seconds >= 0),
        budget_tokens bigint NOT NULL DEFAULT 0 CHECK (budget_tokens >= 0),
        spent_ms bigint NOT NULL DEFAULT 0,
        spent_tokens bigint NOT NULL DEFAULT 0,
        adapter text NOT NULL DEFAULT '',
        provider text NOT NULL DEFAULT '',
        model text NOT NULL DEFAULT '',
        note_seq bigint NOT NULL DEFAULT 0,
        deleted boolean NOT NULL DEFAULT false,
        created_at timestamptz NOT NULL,
        updated_at timestamptz NOT NULL,
        PRIMARY KEY (tenant, session_id)
    )
    """,
    """
    CREATE TABLE workers (
        tenant text NOT NULL,
        id text NOT NULL,
        coordinator_id text NOT NULL,
        name text NOT NULL,
        kind text NOT NULL CHECK (kind IN ('subagent', 'session')),
        status text NOT NULL CHECK (status IN
            ('spawning', 'running', 'succeeded', 'failed', 'cancelled', 'interrupted', 'unknown')),
        reason text NOT NULL DEFAULT '',
        has_result boolean NOT NULL DEFAULT false,
        partial boolean NOT NULL DEFAULT false,
        late boolean NOT NULL DEFAULT false,
        brief text NOT NULL,
        context text NOT NULL DEFAULT '',
        session_id text NOT NULL,
        adapter text NOT NULL DEFAULT '',
        provider text NOT NULL DEFAULT '',
        model text NOT NULL DEFAULT '',
        thinking text NOT NULL DEFAULT '',
        timeout_seconds integer NOT NULL DEFAULT 0,
        spawned_by_turn text NOT NULL DEFAULT '',
        spawned_by text NOT NULL,
        job_id text NOT NULL DEFAULT '',
        launches integer NOT NULL DEFAULT 0,
        said boolean NOT NULL DEFAULT false,
        waiting boolean NOT NULL DEFAULT false,
        stop_reason text NOT NULL DEFAULT '',
        spent_ms bigint NOT NULL DEFAULT 0,
        tokens bigint NOT NULL DEFAULT 0,
        billed_at timestamptz,
        note_seq bigint NOT NULL DEFAULT 0,
        report_version integer NOT NULL DEFAULT 0,
        collected_version integer NOT NULL DEFAULT 0,
        created_at timestamptz NOT NULL,
        updated_at timestamptz NOT NULL,
        started_at timestamptz,
        expires_at timestamptz,
        stop_by timestamptz,
        woken_at timestamptz,
        ended_at timestamptz,
        PRIMARY KEY (tenant, id),
        FOREIGN KEY (tenant, coordinator_id) REFERENCES coordinators (tenant, session_id) ON DELETE CASCADE,
        -- An end has a time and a reason, and nothing else has (C.3).
        CHECK ((status IN ('succeeded', 'failed', 'cancelled', 'interrupted')) = (ended_at IS NOT NULL)),
        CHECK ((ended_at IS NULL) = (reason = ''))
    )
    """,
    # Two at once with one name: the index decides (PUB09).
    "CREATE UNIQUE INDEX workers_name ON workers (tenant, coordinator_id, name)",
    # One session is one worker, of one coordinator (A6).
    "CREATE UNIQUE INDEX workers_session ON workers (tenant, session_id)",
    "CREATE INDEX workers_listed ON workers (tenant, coordinator_id, created_at, id)",
    "CREATE INDEX workers_expiring ON workers (expires_at) WHERE ended_at IS NULL AND expires_at IS NOT NULL",
    "CREATE INDEX workers_stopping ON workers (stop_by) WHERE ended_at IS NULL AND stop_by IS NOT NULL",
    # Ends that a wake may have to tell of.
    "CREATE INDEX workers_untold ON workers (tenant, coordinator_id) WHERE late AND woken_at IS NULL",
    "CREATE INDEX workers_turn ON workers (tenant, coordinator_id, spawned_by_turn) WHERE ended_at IS NULL",
    """
    CREATE TABLE notes (
        tenant text NOT NULL,
        coordinator_id text NOT NULL,
        worker_id text NOT NULL,
        sequence bigint NOT NULL CHECK (sequence > 0),
        text text NOT NULL,
        written_by text NOT NULL,
        created_at timestamptz NOT NULL,
        PRIMARY KEY (tenant, coordinator_id, worker_id, sequence),
        FOREIGN KEY (tenant, coordinator_id) REFERENCES coordinators (tenant, session_id) ON DELETE CASCADE
    )
    """,
    """
    CREATE TABLE reports (
        tenant text NOT NULL,
        worker_id text NOT NULL,
        version integer NOT NULL CHECK (version > 0),
        final boolean NOT NULL,
        partial boolean NOT NULL,
        text text NOT NULL CHECK (octet_length(text) <= 3145728),
        section text,
        result_length bigint NOT NULL,
        created_at timestamptz NOT NULL,
        PRIMARY KEY (tenant, worker_id, version),
        FOREIGN KEY (tenant, worker_id) REFERENCES workers (tenant, id) ON DELETE CASCADE
    )
    """,
    # One end, one final report.
    "CREATE UNIQUE INDEX reports_final ON reports (tenant, worker_id) WHERE final",
    """
    CREATE TABLE injections (
        tenant text NOT NULL,
        session_id text NOT NULL,
        turn_id text NOT NULL,
        role text NOT NULL CHECK (role IN ('coordinator', 'worker')),
        text text NOT NULL,
        sha256 text NOT NULL,
        created_at timestamptz NOT NULL,
        PRIMARY KEY (tenant, session_id, turn_id)
    )
    """,
    "CREATE INDEX injections_newest ON injections (tenant, session_id, created_at DESC)",
    """
    CREATE TABLE ended_turns (
        tenant text NOT NULL,
        session_id text NOT NULL,
        turn_id text NOT NULL,
        outcome text NOT NULL,
        ended_at timestamptz NOT NULL,
        PRIMARY KEY (tenant, session_id, turn_id)
    )
    """,
    """
    CREATE TABLE deleted_sessions (
        tenant text NOT NULL,
        session_id text NOT NULL,
        deleted_at timestamptz NOT NULL,
        PRIMARY KEY (tenant, session_id)
    )
    """,
    """
    CREATE TABLE wakes (
        tenant text NOT NULL,
        coordinator_id text NOT NULL,
        wake_id text NOT NULL,
        attempts integer NOT NULL DEFAULT 0,
        due_at timestamptz NOT NULL,
        PRIMARY KEY (tenant, coordinator_id),
        FOREIGN KEY (tenant, coordinator_id) REFERENCES coordinators (tenant, session_id) ON DELETE CASCADE
    )
    """,
    "CREATE INDEX wakes_due ON wakes (due_at)",
    """
    CREATE TABLE stops (
        tenant text NOT NULL,
        session_id text NOT NULL,
        due_at timestamptz NOT NULL,
        attempts integer NOT NULL DEFAULT 0,
        PRIMARY KEY (tenant, session_id)
    )
    """,
)


def upgrade() -> None:
    """Expand only."""
    for statement in (*INBOX_V1, *_STATEMENTS):
        op.execute(statement)


def downgrade() -> None:
    """Migrations go forward only."""
