"""Turns have numbers and say whether anything was said; turns that start, branches, the inbox of others' facts."""

from alembic import op

from services.kernel.ddl_inbox import INBOX_V1

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_STATEMENTS = (
    """
    ALTER TABLE sessions
        ADD COLUMN turn_number integer NOT NULL DEFAULT 0,
        ADD COLUMN starting text NOT NULL DEFAULT '',
        ADD COLUMN forked_from text NOT NULL DEFAULT '',
        ADD COLUMN fork_turn integer NOT NULL DEFAULT 0,
        ADD COLUMN forking boolean NOT NULL DEFAULT false
    """,
    """
    ALTER TABLE turns
        ADD COLUMN number integer NOT NULL DEFAULT 0,
        ADD COLUMN said boolean NOT NULL DEFAULT false,
        ADD COLUMN begun boolean NOT NULL DEFAULT true,
        ADD COLUMN start_until timestamptz,
        DROP CONSTRAINT turns_state_check,
        ADD CONSTRAINT turns_states CHECK (state IN ('starting', 'idle', 'running', 'waiting', 'failed')),
        ADD CONSTRAINT turns_starting CHECK ((state = 'starting') = (start_until IS NOT NULL))
    """,
    """
    UPDATE turns SET number = counted.number
    FROM (
        SELECT tenant, session_id, id,
            row_number() OVER (PARTITION BY tenant, session_id ORDER BY created_at, id) AS number
        FROM turns
    ) AS counted
    WHERE (turns.tenant, turns.session_id, turns.id) = (counted.tenant, counted.session_id, counted.id)
    """,
    """
    UPDATE sessions SET turn_number = counted.most
    FROM (SELECT tenant, session_id, max(number) AS most FROM turns GROUP BY tenant, session_id) AS counted
    WHERE (sessions.tenant, sessions.id) = (counted.tenant, counted.session_id)
    """,
    # Code of before numbers begins turns without one while both run.
    "CREATE UNIQUE INDEX turns_numbered ON turns (tenant, session_id, number) WHERE number > 0",
    # One turn that starts or is under way a session, whoever asks.
    "CREATE UNIQUE INDEX turns_open ON turns (tenant, session_id) WHERE state IN ('starting', 'running', 'waiting')",
    "CREATE INDEX turns_starts ON turns (start_until) WHERE start_until IS NOT NULL",
    *INBOX_V1,
)


def upgrade() -> None:
    """Expand only."""
    for statement in _STATEMENTS:
        op.execute(statement)


def downgrade() -> None:
    """Migrations go forward only."""
