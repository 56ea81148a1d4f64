"""Turns, gates, the ledger, messages, commands, agents' states, and the runners that are there."""

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_STATEMENTS = (
    """
    ALTER TABLE sessions
        ADD COLUMN agent text NOT NULL DEFAULT 'none' CHECK (agent IN ('none', 'starting', 'live')),
        ADD COLUMN started boolean NOT NULL DEFAULT false,
        ADD COLUMN job_id text NOT NULL DEFAULT '',
        ADD COLUMN turn_id text NOT NULL DEFAULT '',
        ADD COLUMN outcome text NOT NULL DEFAULT '',
        ADD COLUMN code text NOT NULL DEFAULT '',
        ADD COLUMN command_seq bigint NOT NULL DEFAULT 0,
        ADD COLUMN agent_state text NOT NULL DEFAULT '',
        ADD COLUMN resumed_at timestamptz,
        ADD COLUMN deleted_at timestamptz
    """,
    "CREATE INDEX sessions_deleted ON sessions (deleted_at) WHERE deleted_at IS NOT NULL",
    """
    CREATE TABLE turns (
        tenant text NOT NULL,
        session_id text NOT NULL,
        id text NOT NULL,
        state text NOT NULL CHECK (state IN ('idle', 'running', 'waiting', 'failed')),
        text text NOT NULL,
        asked_by text NOT NULL,
        abort_requested boolean NOT NULL DEFAULT false,
        outcome text NOT NULL DEFAULT '',
        code text NOT NULL DEFAULT '',
        usage jsonb,
        agent_state text NOT NULL DEFAULT '',
        after_seq bigint NOT NULL,
        created_at timestamptz NOT NULL,
        ended_at timestamptz,
        PRIMARY KEY (tenant, session_id, id),
        FOREIGN KEY (tenant, session_id) REFERENCES sessions (tenant, id) ON DELETE CASCADE
    )
    """,
    # One turn under way a session, whoever asks (D1.1).
    "CREATE UNIQUE INDEX turns_under_way ON turns (tenant, session_id) WHERE state IN ('running', 'waiting')",
    """
    CREATE TABLE gates (
        tenant text NOT NULL,
        session_id text NOT NULL,
        id text NOT NULL,
        turn_id text NOT NULL,
        request_id text NOT NULL,
        kind text NOT NULL CHECK (kind IN ('choice', 'dialog', 'join-review', 'phase-summary')),
        proposal jsonb NOT NULL,
        state text NOT NULL CHECK (state IN ('open', 'answered', 'cancelled', 'expired')),
        answer jsonb,
        closed_by text NOT NULL DEFAULT '',
        created_at timestamptz NOT NULL,
        closed_at timestamptz,
        expires_at timestamptz,
        PRIMARY KEY (tenant, session_id, id),
        UNIQUE (tenant, session_id, request_id),
        CHECK ((state = 'open') = (closed_at IS NULL)),
        CHECK ((state = 'answered') = (answer IS NOT NULL)),
        FOREIGN KEY (tenant, session_id) REFERENCES sessions (tenant, id) ON DELETE CASCADE
    )
    """,
    "CREATE INDEX gates_expiring ON gates (expires_at) WHERE state = 'open' AND expires_at IS NOT NULL",
    """
    CREATE TABLE ledger (
        tenant text NOT NULL,
        session_id text NOT NULL,
        sequence bigint NOT NULL CHECK (sequence > 0),
        gate_id text NOT NULL,
        joins jsonb NOT NULL,
        accepted_by text NOT NULL,
        created_at timestamptz NOT NULL,
        PRIMARY KEY (tenant, session_id, sequence),
        UNIQUE (tenant, session_id, gate_id),
        FOREIGN KEY (tenant, session_id) REFERENCES sessions (tenant, id) ON DELETE CASCADE
    )
    """,
    """
    CREATE TABLE messages (
        tenant text NOT NULL,
        session_id text NOT NULL,
        sequence bigint NOT NULL CHECK (sequence > 0),
        turn_id text NOT NULL,
        role text NOT NULL CHECK (role IN ('user', 'assistant')),
        text text NOT NULL,
        partial boolean NOT NULL,
        created_at timestamptz NOT NULL,
        PRIMARY KEY (tenant, session_id, sequence),
        UNIQUE (tenant, session_id, turn_id, role),
        FOREIGN KEY (tenant, session_id) REFERENCES sessions (tenant, id) ON DELETE CASCADE
    )
    """,
    """
    CREATE TABLE session_commands (
        tenant text NOT NULL,
        session_id text NOT NULL,
        sequence bigint NOT NULL CHECK (sequence > 0),
        turn_id text NOT NULL,
        kind text NOT NULL CHECK (kind IN ('prompt', 'steer', 'abort', 'gate_answer')),
        payload jsonb NOT NULL,
        state text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'taken', 'dropped')),
        created_at timestamptz NOT NULL,
        PRIMARY KEY (tenant, session_id, sequence),
        FOREIGN KEY (tenant, session_id) REFERENCES sessions (tenant, id) ON DELETE CASCADE
    )
    """,
    """
    CREATE TABLE agent_states (
        tenant text NOT NULL,
        session_id text NOT NULL,
        digest text NOT NULL,
        data bytea NOT NULL CHECK (octet_length(data) <= 8388608),
        created_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (tenant, session_id, digest),
        FOREIGN KEY (tenant, session_id) REFERENCES sessions (tenant, id) ON DELETE CASCADE
    )
    """,
    """
    CREATE TABLE runners (
        runner_id text NOT NULL,
        adapter text NOT NULL,
        providers jsonb NOT NULL,
        models jsonb NOT NULL,
        seen_until timestamptz NOT NULL,
        PRIMARY KEY (runner_id, adapter)
    )
    """,
)


def upgrade() -> None:
    """Expand only."""
    for statement in _STATEMENTS:
        op.execute(statement)


def downgrade() -> None:
    """Migrations go forward only."""
