"""The kernel's tables; sessions, the outbox of their streams, and the counter of DOMAIN's epochs."""

from alembic import op

from services.kernel.ddl import KERNEL_V1

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_STATEMENTS = (
    """
    CREATE TABLE sessions (
        tenant text NOT NULL,
        id text NOT NULL,
        state text NOT NULL CHECK (state IN ('idle', 'running', 'waiting', 'failed')),
        title text NOT NULL,
        adapter text NOT NULL,
        provider text NOT NULL,
        model text NOT NULL,
        thinking text NOT NULL CHECK (thinking IN ('off', 'minimal', 'low', 'medium', 'high', 'xhigh')),
        version bigint NOT NULL DEFAULT 1,
        generation bigint NOT NULL DEFAULT 0,
        tail_generation bigint NOT NULL DEFAULT 0,
        tail_n bigint NOT NULL DEFAULT 0,
        tail_seq bigint NOT NULL DEFAULT 0,
        attach_epoch bigint NOT NULL DEFAULT 0,
        numbering bigint NOT NULL DEFAULT 0,
        created_at timestamptz NOT NULL,
        updated_at timestamptz NOT NULL,
        PRIMARY KEY (tenant, id)
    )
    """,
    "CREATE INDEX sessions_newest ON sessions (tenant, created_at DESC, id DESC)",
    """
    CREATE TABLE session_outbox (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        tenant text NOT NULL,
        session_id text NOT NULL,
        event_id text NOT NULL UNIQUE,
        name text NOT NULL,
        data bytea NOT NULL CHECK (octet_length(data) <= 65536),
        after_seq bigint NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        sent_seq bigint,
        FOREIGN KEY (tenant, session_id) REFERENCES sessions (tenant, id) ON DELETE CASCADE
    )
    """,
    "CREATE INDEX session_outbox_pending ON session_outbox (tenant, session_id, id) WHERE sent_seq IS NULL",
    "CREATE TABLE counters (name text PRIMARY KEY, value bigint NOT NULL)",
)


def upgrade() -> None:
    """Expand only."""
    for statement in (*KERNEL_V1, *_STATEMENTS):
        op.execute(statement)


def downgrade() -> None:
    """Migrations go forward only."""
